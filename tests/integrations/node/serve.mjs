// Runs a snippet on its platform, on a free port of loopback: node serve.mjs KIND FOLDER OPTIONS
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [kind, folder, json] = process.argv.slice(2);
const options = JSON.parse(json);

function listen(handler) {
  const server = createServer(handler);
  server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
}

// A site that was built around the snippet; see `build_next_site` in fronts.py.
async function nextjs() {
  process.env.GOSSAMER_URL = options.url;
  process.env.GOSSAMER_KEY = options.key;
  process.env.GOSSAMER_ORIGIN = options.origin;
  process.env.TEST_OPTIONS = json;
  const { default: next } = await import("next");
  const app = next({ dev: false, dir: folder });
  await app.prepare();
  const handler = app.getRequestHandler();
  listen((request, response) => handler(request, response));
}

async function express() {
  const { default: makeApp } = await import("express");
  const { bots } = await import(pathToFileURL(`${folder}/express.js`));
  const app = makeApp();
  app.disable("x-powered-by");
  app.use(bots(options));
  app.use((request, response) => {
    response.setHeader("X-Site", "yes");
    response.type("html").send(request.method === "HEAD" ? "" : `site: ${request.method} ${request.originalUrl}`);
  });
  listen(app);
}

await { nextjs, express }[kind]();
