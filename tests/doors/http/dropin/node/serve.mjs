// Sites with Prerender's own middleware in front, each on a free port of loopback: node serve.mjs SITE FRONTS
// A front is {serviceUrl, token}. What the middleware does not answer comes from the site at SITE.
import { createRequire } from "node:module";
import express from "express";

const [site, fronts] = process.argv.slice(2);
const require = createRequire(import.meta.url);

function middleware({ serviceUrl, token }) {
  delete require.cache[require.resolve("prerender-node")]; // it keeps its options in the module
  const prerender = require("prerender-node");
  prerender.set("prerenderServiceUrl", serviceUrl);
  return token ? prerender.set("prerenderToken", token) : prerender;
}

async function pass(request, response) {
  const mark = request.headers["x-prerender"];
  const answer = await fetch(site + request.originalUrl, {
    redirect: "manual",
    headers: { "X-Front": "yes", ...(mark ? { "X-Prerender": mark } : {}) },
  });
  response.status(answer.status).type(answer.headers.get("content-type") ?? "text/html");
  response.setHeader("X-Site", "yes");
  response.send(Buffer.from(await answer.arrayBuffer()));
}

for (const front of JSON.parse(fronts)) {
  const app = express();
  app.disable("x-powered-by");
  app.use(middleware(front));
  app.use((request, response, next) => pass(request, response).catch(next));
  await new Promise((done) => {
    const server = app.listen(0, "127.0.0.1", () => {
      console.log(`port ${server.address().port}`);
      done();
    });
  });
}
