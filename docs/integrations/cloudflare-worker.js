// A Cloudflare Worker on a route of your site.
//
//   wrangler secret put GOSSAMER_KEY
//   [vars] GOSSAMER_URL = "https://gossamer.example"
//          GOSSAMER_ORIGIN = "https://www.example.com"

import { serveBots } from "./gossamer-bots.js";

let serve;

export default {
  async fetch(request, env, context) {
    context.passThroughOnException();
    serve ??= serveBots({ url: env.GOSSAMER_URL, key: env.GOSSAMER_KEY, origin: env.GOSSAMER_ORIGIN });
    const answer = await serve(request);
    if (answer || !serve.varies(request)) return answer ?? fetch(request);
    const own = await fetch(request);
    const varying = new Response(own.body, own);
    varying.headers.append("Vary", serve.vary);
    return varying;
  },
};
