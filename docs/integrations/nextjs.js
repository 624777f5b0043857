// Next.js: this file is middleware.js (proxy.js since Next.js 16) beside your app folder.
//
//   GOSSAMER_URL=https://gossamer.example
//   GOSSAMER_KEY=sk_live_…
//   GOSSAMER_ORIGIN=https://www.example.com     where visitors find the site

import { NextResponse } from "next/server";
import { serveBots } from "./gossamer-bots.js";

const serve = serveBots({
  url: process.env.GOSSAMER_URL,
  key: process.env.GOSSAMER_KEY,
  origin: process.env.GOSSAMER_ORIGIN,
});

export default async function middleware(request) {
  const answer = await serve(request);
  if (answer) return answer;
  const next = NextResponse.next(); // the site itself
  if (serve.varies(request)) next.headers.append("Vary", serve.vary);
  return next;
}

export const config = { matcher: ["/((?!_next/|api/).*)"] };
