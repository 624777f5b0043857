// Runs a snippet as its platform does, on a free port of loopback: node serve.mjs KIND FOLDER SITE OPTIONS
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";

const [kind, folder, site, json] = process.argv.slice(2);
const options = JSON.parse(json);
const load = (name) => import(pathToFileURL(`${folder}/${name}`));
const platformFetch = globalThis.fetch;

function requestOf(incoming) {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) if (name !== "connection") headers.set(name, String(value));
  const body = ["GET", "HEAD"].includes(incoming.method) ? undefined : Readable.toWeb(incoming);
  return new Request(`https://www.example.com${incoming.url}`, { method: incoming.method, headers, body, duplex: "half" });
}

async function send(answer, outgoing) {
  const headers = Object.fromEntries(answer.headers);
  delete headers["connection"];
  outgoing.writeHead(answer.status, headers);
  if (!answer.body) return outgoing.end();
  await pipeline(Readable.fromWeb(answer.body), outgoing).catch(() => outgoing.destroy());
}

function fromSite(request) {
  const url = new URL(request.url);
  const { method, body } = request;
  return platformFetch(site + url.pathname + url.search, { method, body, duplex: "half", redirect: "manual" });
}

async function nextjs() {
  process.env.GOSSAMER_URL = options.url;
  process.env.GOSSAMER_KEY = options.key;
  process.env.GOSSAMER_ORIGIN = options.origin;
  const { default: middleware, config } = await load("nextjs.js");
  if (!Array.isArray(config.matcher)) throw new Error("no matcher");
  return async (incoming, outgoing) => {
    const request = requestOf(incoming);
    await send((await middleware(request)) ?? (await fromSite(request)), outgoing);
  };
}

async function cloudflare() {
  // What a Worker fetches from its own zone comes from the site behind it.
  globalThis.fetch = (input, init) => (input instanceof Request ? fromSite(input) : platformFetch(input, init));
  const { default: worker } = await load("cloudflare-worker.js");
  const env = { GOSSAMER_URL: options.url, GOSSAMER_KEY: options.key };
  const context = { passThroughOnException() {}, waitUntil() {} };
  return async (incoming, outgoing) => send(await worker.fetch(requestOf(incoming), env, context), outgoing);
}

async function express() {
  const { default: makeApp } = await import("express");
  const { bots } = await load("express.js");
  const app = makeApp();
  app.disable("x-powered-by");
  app.use(bots(options));
  app.use((request, response) => {
    response.setHeader("X-Site", "yes");
    response.type("html").send(request.method === "HEAD" ? "" : `site: ${request.method} ${request.originalUrl}`);
  });
  return app;
}

const handler = await { nextjs, cloudflare, express }[kind]();
const server = createServer(handler);
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
