// Pays for one POST with an npm client and prints what came back.
//   node pay.mjs x402-fetch|@x402/fetch URL BODY WALLET     (WALLET: {"evm": hex} or {"svm": hex, "rpc": url})
import { createKeyPairSignerFromPrivateKeyBytes } from "@solana/kit";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import { privateKeyToAccount } from "viem/accounts";
import { wrapFetchWithPayment as wrapFetchWithFirstVersion } from "x402-fetch";

const [kind, url, body, wallet] = process.argv.slice(2);

// Nothing here may ever ask a public node.
const fetchNearby = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const asked = new URL(input instanceof Request ? input.url : input);
  if (asked.hostname !== "127.0.0.1") throw new Error(`${asked} is not on this machine`);
  return fetchNearby(input, init);
};

async function payingFetch({ evm, svm, rpc }) {
  if (kind === "x402-fetch") return wrapFetchWithFirstVersion(fetch, privateKeyToAccount(evm));
  const client = new x402Client();
  if (evm) client.register("eip155:*", new ExactEvmScheme(privateKeyToAccount(evm)));
  if (svm) {
    const signer = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(svm, "hex"));
    client.register("solana:*", new ExactSvmScheme(signer, { rpcUrl: rpc }));
  }
  return wrapFetchWithPayment(fetch, client);
}

const pay = await payingFetch(JSON.parse(wallet));
const response = await pay(url, { method: "POST", headers: { "content-type": "application/json" }, body });
const headers = Object.fromEntries(response.headers);
process.stdout.write(JSON.stringify({ status: response.status, headers, body: await response.text() }));
