// Robots that run no scripts get the page as Gossamer rendered it; people get the site.
// Only what every JavaScript platform has: Request, Response, Headers, URL and fetch. See README.md.

const ROBOTS = new RegExp([
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
].join("|"), "i");

const ASSETS = new Set([
  "7z", "apk", "atom", "avi", "avif", "bin", "bmp", "bz2", "cjs", "css", "csv", "deb", "dmg", "doc", "docx", "eot",
  "epub", "exe", "flac", "gif", "gz", "heic", "ico", "ics", "iso", "jar", "jpeg", "jpg", "js", "json", "jsonld", "log",
  "m4a", "m4v", "map", "md", "mjs", "mkv", "mov", "mp3", "mp4", "msi", "odp", "ods", "odt", "oga", "ogg", "ogv", "otf",
  "pdf", "png", "ppt", "pptx", "rar", "rpm", "rss", "svg", "swf", "tar", "tgz", "tif", "tiff", "toml", "torrent", "tsv",
  "ttf", "txt", "wasm", "wav", "webm", "webmanifest", "webp", "woff", "woff2", "xls", "xlsx", "xml", "xz", "yaml",
  "yml", "zip", "zst",
]);

// Characters of an address that Gossamer takes. What it refuses would in time have your key refused.
const LONGEST = 2048;

// Nothing else of an answer speaks of the page; fetch has undone content-encoding, and content-length with it.
const PASSED_ON = ["content-type", "content-language", "etag", "expires", "last-modified", "link", "location",
  "retry-after", "x-robots-tag", "x-cache", "x-cache-age", "x-cache-location"];

/**
 * Makes a function that takes a visit, `{method, url, headers}`, and gives the Response to send, or null when the
 * site itself is to answer: the visitor is no robot, the page is not rendered yet, or Gossamer is away.
 *
 *   url       where Gossamer is               key       an API key of it
 *   origin    where visitors find the site; without it, what the visit's own url says
 *   deadline  milliseconds until Gossamer has begun to answer
 *   failures  in a row, after which nobody asks for `pause` milliseconds
 */
export function serveBots({ url, key, origin = "", deadline = 2000, failures = 3, pause = 30_000 }) {
  const endpoint = url.replace(/\/+$/, "") + "/api/render";
  let failed = 0;
  let until = 0;

  function mayAsk() {
    if (failed < failures) return true;
    if (Date.now() < until) return false;
    until = Date.now() + pause; // this one asks on behalf of all
    return true;
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
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), deadline);
    try {
      const answer = await fetch(endpoint, {
        method: "POST", headers, body: JSON.stringify({ url: page }), signal: controller.signal, redirect: "manual",
      });
      if (answer.status >= 500) throw new Error(`Gossamer answers with ${answer.status}`);
      failed = 0;
      return answer;
    } catch {
      failed += 1;
      until = Date.now() + pause;
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  return async function serve({ method, url, headers }) {
    const address = new URL(url);
    if (!isRobotsVisit(method, address.pathname, headers)) return null;
    const page = origin ? origin.replace(/\/+$/, "") + address.pathname + address.search : address.href;
    if (page.length > LONGEST || !mayAsk()) return null;
    const known = headers.get("if-none-match");
    const answer = await ask(page, known);
    if (!answer) return null;
    if (!isPage(answer, known)) {
      await answer.body?.cancel();
      return null;
    }
    const passed = new Headers({ Vary: "User-Agent, Accept-Encoding", "X-Served-By": "Gossamer" });
    for (const name of PASSED_ON) if (answer.headers.has(name)) passed.set(name, answer.headers.get(name));
    if (method === "HEAD") await answer.body?.cancel();
    const status = statusOf(answer);
    return new Response(method === "HEAD" || status === 304 ? null : answer.body, { status, headers: passed });
  };
}

function isRobotsVisit(method, path, headers) {
  const agent = headers.get("user-agent") ?? "";
  const extension = /\.([A-Za-z0-9]{1,12})$/.exec(path)?.[1].toLowerCase();
  return (method === "GET" || method === "HEAD")
    && ROBOTS.test(agent)
    && !/gossamer/i.test(agent) // our own visit to the page, on behalf of a robot
    && !["x-gossamer", "authorization", "upgrade"].some((name) => headers.has(name))
    && !ASSETS.has(extension);
}

// What Gossamer says of a page that it has, rather than of itself.
function isPage(answer, known) {
  if (answer.status === 304) return Boolean(known);
  return answer.status === 200 && (answer.headers.get("content-type") ?? "").startsWith("text/html");
}

// The page's own: 404, say, though Gossamer had it and said 200.
function statusOf(answer) {
  const said = answer.headers.get("x-page-status") ?? "";
  if (answer.status !== 200 || !/^[2-5][0-9][0-9]$/.test(said) || ["204", "205", "304"].includes(said)) {
    return answer.status;
  }
  return said.startsWith("3") && !answer.headers.has("location") ? answer.status : Number(said);
}
