// Bots that run no scripts get the page as Gossamer rendered it; people get the site.
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
 *
 * `serve.varies(visit)` says whether the site's own answer needs `Vary: User-Agent`.
 */
export function serveBots({
  url, key, origin, deadline = 2, wait = 0, maxAge = 86_400, staleWhileRevalidate = 604_800, failures = 3, pause = 30,
  bots = ROBOTS, exclude = [],
}) {
  if (!/^https?:\/\/[^\s/?#@]+/.test(origin ?? "")) {
    throw new Error("origin must be the site's own address, such as https://www.example.com");
  }
  const endpoint = url.replace(/\/+$/, "") + "/api/render";
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

  async function ask(page, known) {
    const headers = {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      Accept: "text/html",
      "User-Agent": "Gossamer-Middleware",
      "X-Gossamer": "middleware",
    };
    if (known) headers["If-None-Match"] = known;
    const wanted = { url: page, ...(wait && { wait }), ...(maxAge !== null && { maxAge, staleWhileRevalidate }) };
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), (deadline + wait) * 1000);
    try {
      const answer = await fetch(endpoint, {
        method: "POST", headers, body: JSON.stringify(wanted), signal: controller.signal, redirect: "manual",
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

  function isRobots(headers) {
    const agent = (headers.get("user-agent") ?? "").toLowerCase();
    return robots.some((token) => agent.includes(token))
      && !agent.includes("gossamer") // Gossamer's own visit to the page
      && !["x-gossamer", "authorization", "upgrade"].some((name) => headers.has(name));
  }

  async function serve(visit) {
    const { method, headers } = visit;
    if (!isRobots(headers) || !varies(visit)) return null;
    const { pathname, search } = new URL(visit.url);
    const page = base + pathname + search;
    if (page.length > LONGEST || !mayAsk()) return null;
    const known = headers.get("if-none-match");
    const { answer, controller } = (await ask(page, known)) ?? {};
    if (!answer) return null;
    if (!isPage(answer, known)) {
      await answer.body?.cancel();
      return null;
    }
    const passed = new Headers({ Vary: "User-Agent, Accept-Encoding", "X-Served-By": "Gossamer" });
    for (const name of PASSED_ON) if (answer.headers.has(name)) passed.set(name, answer.headers.get(name));
    if (method === "HEAD") await answer.body?.cancel();
    const status = statusOf(answer);
    const body = method === "HEAD" || status === 304 || !answer.body ? null : bounded(answer.body, controller);
    return new Response(body, { status, headers: passed });
  }

  return Object.assign(serve, { varies });
}

// Whether the answer is a page, and not a message of the API.
function isPage(answer, known) {
  if (answer.status === 304) return Boolean(known);
  return answer.status === 200 && (answer.headers.get("content-type") ?? "").startsWith("text/html");
}

// The page's own status: it may be 404 although Gossamer answered 200.
function statusOf(answer) {
  const said = answer.headers.get("x-page-status") ?? "";
  if (answer.status !== 200 || !/^[2-5][0-9][0-9]$/.test(said) || ["204", "205", "304"].includes(said)) {
    return answer.status;
  }
  return said.startsWith("3") && !answer.headers.has("location") ? answer.status : Number(said);
}
