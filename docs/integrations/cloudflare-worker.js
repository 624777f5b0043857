// A Cloudflare Worker on a route of your site.
//
//   wrangler secret put GOSSAMER_KEY
//   [vars] GOSSAMER_URL = "https://gossamer.example"

import { serveBots } from "./gossamer-bots.js";

let serve;

export default {
  async fetch(request, env, context) {
    context.passThroughOnException();
    serve ??= serveBots({ url: env.GOSSAMER_URL, key: env.GOSSAMER_KEY, origin: env.GOSSAMER_ORIGIN });
    return (await serve(request)) ?? fetch(request);
  },
};
