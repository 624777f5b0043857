// Next.js: this file is middleware.js (proxy.js since Next.js 16) beside your app folder.
//
//   GOSSAMER_URL=https://gossamer.example
//   GOSSAMER_KEY=sk_live_…
//   GOSSAMER_ORIGIN=https://www.example.com     where visitors find the site; needed behind a proxy of your own

import { serveBots } from "./gossamer-bots.js";

const serve = serveBots({
  url: process.env.GOSSAMER_URL,
  key: process.env.GOSSAMER_KEY,
  origin: process.env.GOSSAMER_ORIGIN,
});

// Nothing returned: Next.js goes on as without us.
export default async function middleware(request) {
  return (await serve(request)) ?? undefined;
}

export const config = { matcher: ["/((?!_next/|api/).*)"] };
