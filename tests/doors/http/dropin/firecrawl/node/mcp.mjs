// Calls the tools of firecrawl-mcp as an agent does. Prints what they said as JSON.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [origin, key, seed, product] = process.argv.slice(2);
const environment = { ...process.env, FIRECRAWL_API_URL: origin, FIRECRAWL_API_KEY: key };
const program = new URL("./node_modules/firecrawl-mcp/dist/index.js", import.meta.url).pathname;
const server = spawn(process.execPath, [program], { env: environment, stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
createInterface({ input: server.stdout }).on("line", (line) => {
  if (!line.startsWith("{")) return;
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message);
});
let last = 0;
const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const ask = (method, params) =>
  new Promise((resolve) => {
    waiting.set(++last, resolve);
    send({ id: last, method, params });
  });
const call = async (name, given) => {
  const { result, error } = await ask("tools/call", { name, arguments: given });
  return error ? error.message : result.content.map((part) => part.text).join("\n");
};

const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
await ask("initialize", client);
send({ method: "notifications/initialized" });
const told = {
  scrape: await call("firecrawl_scrape", { url: product, formats: ["markdown"] }),
  map: await call("firecrawl_map", { url: seed, sitemap: "skip" }),
  search: await call("firecrawl_search", { query: "silk rope", limit: 2 }),
  crawl: await call("firecrawl_crawl", { url: seed, limit: 15, crawlEntireDomain: true, sitemap: "skip" }),
  credits: await call("firecrawl_credit_usage", {}),
};
console.log(JSON.stringify(told));
server.kill();
