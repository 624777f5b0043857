// Pays for POSTs, all at once, each with an npm client, and prints what came back.
//   node pay.mjs '[{"client": "x402-fetch" or "@x402/fetch", "url": …, "body": …, "wallet": WALLET}, …]'
// WALLET: {"evm": hex} or {"svm": hex, "rpc": url}
import { createKeyPairSignerFromPrivateKeyBytes } from "@solana/kit";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import { privateKeyToAccount } from "viem/accounts";
import { wrapFetchWithPayment as wrapFetchWithFirstVersion } from "x402-fetch";

// Nothing here may ever ask a public node.
const fetchNearby = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const asked = new URL(input instanceof Request ? input.url : input);
  if (asked.hostname !== "127.0.0.1") throw new Error(`${asked} is not on this machine`);
  return fetchNearby(input, init);
};

async function payingFetch(kind, { evm, svm, rpc }) {
  if (kind === "x402-fetch") return wrapFetchWithFirstVersion(fetch, privateKeyToAccount(evm));
  const client = new x402Client();
  if (evm) client.register("eip155:*", new ExactEvmScheme(privateKeyToAccount(evm)));
  if (svm) {
    const signer = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(svm, "hex"));
    client.register("solana:*", new ExactSvmScheme(signer, { rpcUrl: rpc }));
  }
  return wrapFetchWithPayment(fetch, client);
}

async function buy({ client, url, body, wallet }) {
  const pay = await payingFetch(client, wallet);
  const response = await pay(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

const bought = await Promise.all(JSON.parse(process.argv[2]).map(buy));
process.stdout.write(JSON.stringify(bought));
