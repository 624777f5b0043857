// A client of the TypeScript SDK: node client.mjs URL KEY PAGE; without a key it shows what a call costs.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key, page] = process.argv.slice(2);
const headers = key ? { Authorization: `Bearer ${key}` } : {};
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const problems = [];
const client = new Client({ name: "test", version: "1" });
client.onerror = (error) => problems.push(String(error));
await client.connect(transport);
const { tools } = await client.listTools();
const reported = [];
const fetched = await client.callTool({ name: "fetch", arguments: { url: page, render: "never" } });
const batch = key
  ? await client.callTool({ name: "batch", arguments: { urls: [page], render: "never" } }, undefined, {
      onprogress: (progress) => reported.push(progress.progress),
    })
  : null;
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), fetched, batch, reported, problems }));
