// Bots that run no scripts get the page as Gossamer rendered it; people get the site. With `markdown`, clients that
// prefer text/markdown get that.
// It uses only what every JavaScript platform has: Request, Response, Headers, URL and fetch. See README.md.

const ROBOTS = [
  // AI: search, assistants, training
  "OAI-SearchBot", "Claude-SearchBot", "PerplexityBot", "Applebot", "Amazonbot", "DuckAssistBot",
  "ChatGPT-User", "Claude-User", "Perplexity-User", "MistralAI-User", "Meta-ExternalFetcher",
  "GPTBot", "ClaudeBot", "anthropic-ai", "Google-Extended", "Applebot-Extended", "Meta-ExternalAgent", "CCBot",
  "Bytespider", "cohere-training-data-crawler",
  // search engines
  "Googlebot", "GoogleOther", "Google-InspectionTool", "Bingbot", "DuckDuckBot", "YandexBot", "Baiduspider", "Sogou",
  "Yeti", "SeznamBot", "Qwantbot", "MojeekBot", "PetalBot", "Slurp",
  // link previews
  "facebookexternalhit", "Twitterbot", "LinkedInBot", "Slackbot", "WhatsApp", "TelegramBot", "Discordbot",
  "Pinterestbot", "redditbot", "SkypeUriPreview",
];

const ASSETS = new Set([
  "7z", "apk", "atom", "avi", "avif", "bin", "bmp", "bz2", "cjs", "css", "csv", "deb", "dmg", "doc", "docx", "eot",
  "epub", "exe", "flac", "gif", "gz", "heic", "ico", "ics", "iso", "jar", "jpeg", "jpg", "js", "json", "jsonld", "log",
  "m4a", "m4v", "map", "md", "mjs", "mkv", "mov", "mp3", "mp4", "msi", "odp", "ods", "odt", "oga", "ogg", "ogv", "otf",
  "pdf", "png", "ppt", "pptx", "rar", "rpm", "rss", "svg", "swf", "tar", "tgz", "tif", "tiff", "toml", "torrent", "tsv",
  "ttf", "txt", "wasm", "wav", "webm", "webmanifest", "webp", "woff", "woff2", "xls", "xlsx", "xml", "xz", "yaml",
  "yml", "zip", "zst",
]);

// The longest address that Gossamer accepts. Repeated refusals would make it pause requests of your key.
const LONGEST = 2048;

// The only headers that describe the page. fetch has decoded content-encoding, so content-length no longer holds.
const PASSED_ON = ["content-type", "content-language", "etag", "expires", "last-modified", "link", "location",
  "retry-after", "x-robots-tag", "x-cache", "x-cache-age", "x-cache-location"];

/**
 * Returns a function that takes a visit, `{method, url, headers}`, and returns the Response to send. It returns null
 * if the site should answer: the visitor is not a bot, the page is not rendered yet, or Gossamer is away. All times
 * are seconds.
 *
 *   url       the address of Gossamer         key       an API key for it
 *   origin    the public address of the site; the visitor's `Host` is ignored
 *   deadline  until Gossamer must begin to answer, and between two parts of a page
 *   wait      additional seconds to render a missing page for this visit
 *   maxAge    the age at which a page is rendered again; null is never
 *   staleWhileRevalidate  additional seconds in which the old page is served meanwhile
 *   failures  in a row after which Gossamer is skipped for `pause` seconds; 429 is one
 *   bots      words in the User-Agent         exclude   beginnings of paths that are left to the site
 *   markdown  clients that prefer text/markdown to HTML get it, whoever they are
 *
 * `serve.varies(visit)` says whether the site's own answer needs the `Vary` that `serve.vary` is.
 */
export function serveBots({
  url, key, origin, deadline = 2, wait = 0, maxAge = 86_400, staleWhileRevalidate = 604_800, failures = 3, pause = 30,
  bots = ROBOTS, exclude = [], markdown = false,
}) {
  if (!/^https?:\/\/[^\s/?#@]+/.test(origin ?? "")) {
    throw new Error("origin must be the site's own address, such as https://www.example.com");
  }
  const gossamer = url.replace(/\/+$/, "");
  const vary = markdown ? "User-Agent, Accept" : "User-Agent";
  const base = origin.replace(/\/+$/, "");
  const robots = bots.map((token) => token.toLowerCase());
  let failed = 0;
  let until = 0;

  function mayAsk() {
    if (failed < failures) return true;
    if (Date.now() < until) return false;
    until = Date.now() + pause * 1000; // this request probes for all others
    return true;
  }

  // A body that stalls is cut off: a part must not look like the whole.
  function bounded(body, controller) {
    let timer;
    const again = () => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(), deadline * 1000);
    };
    again();
    return body.pipeThrough(new TransformStream({
      transform(part, to) {
        again();
        to.enqueue(part);
      },
      flush: () => clearTimeout(timer),
    }));
  }

  function asksFor(page, bare) {
    if (!bare) return { url: page, ...(wait && { wait }), ...(maxAge !== null && { maxAge, staleWhileRevalidate }) };
    const cacheTtl = Math.min(maxAge ?? 86_400, 86_400);
    return { url: page, render: "auto", cache: true, cacheTtl, timeout: Math.floor((deadline + wait) * 1000) };
  }

  // The word by which a robot is known; empty for anybody else.
  function robotOf(headers) {
    const agent = (headers.get("user-agent") ?? "").toLowerCase();
    return bots.find((token, at) => agent.includes(robots[at])) ?? "";
  }

  async function ask(page, known, bare, robot) {
    const headers = {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      Accept: bare ? "text/markdown" : "text/html",
      "User-Agent": "Gossamer-Middleware",
      "X-Gossamer": "middleware",
    };
    if (known) headers["If-None-Match"] = known;
    if (robot) headers["X-Gossamer-Robot"] = robot; // so that Gossamer can tell what robots get
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), (deadline + wait) * 1000);
    try {
      const answer = await fetch(gossamer + (bare ? "/fetch" : "/api/render"), {
        method: "POST", headers, body: JSON.stringify(asksFor(page, bare)), signal: controller.signal, redirect: "manual",
      });
      if (answer.status >= 500 || answer.status === 429) {
        controller.abort();
        throw new Error(`Gossamer answers with ${answer.status}`);
      }
      failed = 0;
      return { answer, controller };
    } catch {
      failed += 1;
      until = Date.now() + pause * 1000;
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  function varies({ method, url }) {
    const path = new URL(url).pathname;
    const extension = /\.([A-Za-z0-9]{1,12})$/.exec(path)?.[1].toLowerCase();
    return (method === "GET" || method === "HEAD") && !ASSETS.has(extension) && !exclude.some((start) => path.startsWith(start));
  }

  // A visitor with a cookie may be somebody to the site, and is left to it.
  function wantsMarkdown(headers) {
    return markdown && !headers.has("cookie") && prefersMarkdown(headers.get("accept") ?? "");
  }

  function isOurs(headers) {
    const agent = (headers.get("user-agent") ?? "").toLowerCase();
    return (wantsMarkdown(headers) || robotOf(headers))
      && !agent.includes("gossamer") // Gossamer's own visit to the page
      && !["x-gossamer", "authorization", "upgrade"].some((name) => headers.has(name));
  }

  async function serve(visit) {
    const { method, headers } = visit;
    if (!isOurs(headers) || !varies(visit)) return null;
    const { pathname, search } = new URL(visit.url);
    const page = base + pathname + search;
    if (page.length > LONGEST || !mayAsk()) return null;
    const known = headers.get("if-none-match");
    const bare = wantsMarkdown(headers);
    const { answer, controller } = (await ask(page, known, bare, robotOf(headers))) ?? {};
    if (!answer) return null;
    if (!isPage(answer, known, bare)) {
      await answer.body?.cancel();
      return null;
    }
    const passed = new Headers({ Vary: `${vary}, Accept-Encoding`, "X-Served-By": "Gossamer" });
    for (const name of PASSED_ON) if (answer.headers.has(name)) passed.set(name, answer.headers.get(name));
    if (method === "HEAD") await answer.body?.cancel();
    const status = statusOf(answer);
    const body = method === "HEAD" || status === 304 || !answer.body ? null : bounded(answer.body, controller);
    return new Response(body, { status, headers: passed });
  }

  return Object.assign(serve, { varies, vary });
}

// Whether text/markdown is named, and HTML is not accepted more willingly (RFC 9110, 12.5.1).
function prefersMarkdown(accept) {
  const weights = new Map(accept.toLowerCase().split(",").map((item) => {
    const [name, ...parameters] = item.split(";").map((part) => part.trim());
    const quality = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
    return [name, /^[01](\.[0-9]{0,3})?$/.test(quality) ? Number(quality) : 0];
  }));
  const html = ["text/html", "text/*", "*/*"].map((name) => weights.get(name)).find((weight) => weight !== undefined) ?? 0;
  const wanted = weights.get("text/markdown") ?? 0;
  return wanted > 0 && wanted >= html;
}

// Whether the answer is a page, and not a message of the API or something else of the site's.
function isPage(answer, known, bare) {
  if (answer.status === 304) return Boolean(known);
  const type = answer.headers.get("content-type") ?? "";
  if (answer.status !== 200 || !type.startsWith(bare ? "text/markdown" : "text/html")) return false;
  return !bare || (answer.headers.get("x-outcome") === "ok" && answer.headers.get("x-page-kind") === "html");
}

// The page's own status: it may be 404 although Gossamer answered 200.
function statusOf(answer) {
  const said = answer.headers.get("x-page-status") ?? "";
  if (answer.status !== 200 || !/^[2-5][0-9][0-9]$/.test(said) || ["204", "205", "304"].includes(said)) {
    return answer.status;
  }
  return said.startsWith("3") && !answer.headers.has("location") ? answer.status : Number(said);
}
