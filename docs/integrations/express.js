// Express, Connect and everything else that takes (request, response, next).
//
//   import { bots } from "./express.js";
//   app.use(bots({ url: "https://gossamer.example", key: process.env.GOSSAMER_KEY, origin: "https://www.example.com" }));

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { serveBots } from "./gossamer-bots.js";

export function bots(options) {
  const serve = serveBots(options);

  return async function (request, response, next) {
    let answer = null;
    try {
      const visit = visitOf(request);
      answer = await serve(visit);
      if (!answer && serve.varies(visit)) response.appendHeader("Vary", serve.vary);
    } catch {
      // The site handles requests that this cannot parse.
    }
    if (!answer) return next();
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (!answer.body) return response.end();
    // If the body breaks off, cut the connection: a part must not look like the whole.
    await pipeline(Readable.fromWeb(answer.body), response).catch(() => response.destroy());
  };
}

function visitOf(request) {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
  const path = request.originalUrl ?? request.url;
  return { method: request.method, url: `http://site${path}`, headers }; // of which only the path counts
}
