// A client of the TypeScript SDK.
//   node client.mjs http PAGE URL [KEY]          without a key it shows what a call costs
//   node client.mjs stdio PAGE COMMAND [ARGUMENT…]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, page, ...place] = process.argv.slice(2);

function overHttp([url, key]) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

function overStdio([command, ...args]) {
  return new StdioClientTransport({ command, args, env: process.env });
}

const transport = kind === "http" ? overHttp(place) : overStdio(place);
const isUnpaid = kind === "http" && place.length === 1;
const problems = [];
const client = new Client({ name: "test", version: "1" });
client.onerror = (error) => problems.push(String(error));
await client.connect(transport);
const { tools } = await client.listTools();
const reported = [];
const fetched = await client.callTool({ name: "fetch", arguments: { url: page, render: "never" } });
const batch = isUnpaid
  ? null
  : await client.callTool({ name: "batch", arguments: { urls: [page], render: "never" } }, undefined, {
      onprogress: (progress) => reported.push(progress.progress),
    });
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), fetched, batch, reported, problems }));
