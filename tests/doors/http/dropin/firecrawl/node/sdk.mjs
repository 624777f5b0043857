// Everything that people do with @mendable/firecrawl-js, in its two versions. Prints what it got as JSON.
import Firecrawl, { FirecrawlAppV1 } from "@mendable/firecrawl-js";

const [origin, key, seed, product] = process.argv.slice(2);
const schema = { type: "object", properties: { name: { type: "string" }, price: { type: "number" } } };
const site = { crawlEntireDomain: true, sitemap: "skip" };
const told = {};
const titles = (pages) => pages.map((page) => page.metadata.title).sort();

const client = new Firecrawl({ apiKey: key, apiUrl: origin });
const page = await client.scrape(product, { formats: ["markdown", { type: "json", schema }] });
told.scrape = [page.markdown.slice(0, 11), page.json, page.metadata.statusCode];
told.map = (await client.map(seed, { sitemap: "skip" })).links.map((link) => link.url);
told.crawl = titles((await client.crawl(seed, { ...site, limit: 20, pollInterval: 1 })).data);
told.batch = titles((await client.batchScrape([seed, product], { options: { formats: ["markdown"] }, pollInterval: 1 })).data);
told.search = (await client.search("silk rope", { limit: 3 })).web[0].url;
told.extract = (await client.extract({ urls: [product], schema })).data;
told.credits = Number.isInteger((await client.getCreditUsage()).remainingCredits);
const begun = await client.startCrawl(seed, { limit: 19 });
told.cancel = await client.cancelCrawl(begun.id);
told.error = await client.scrape("http://127.0.0.1:9/").catch((error) => [error.status, error.code]);

told.websocket = typeof globalThis.WebSocket;
const watched = await client.startCrawl(seed, { ...site, limit: 18 });
const watcher = client.watcher(watched.id, { kind: "crawl", pollInterval: 30, timeout: 60 });
const seen = [];
watcher.on("document", (document) => seen.push(document));
const done = new Promise((resolve) => watcher.on("done", resolve));
await watcher.start();
told.watched = [titles(seen), (await done).status];

const old = new FirecrawlAppV1({ apiKey: key, apiUrl: origin });
told.oldScrape = (await old.scrapeUrl(product, { formats: ["markdown"] })).markdown.slice(0, 11);
told.oldCrawl = titles((await old.crawlUrl(seed, { allowBackwardLinks: true, ignoreSitemap: true, limit: 17 }, 2)).data);
const oldWatcher = await old.crawlUrlAndWatch(seed, { allowBackwardLinks: true, ignoreSitemap: true, limit: 16 });
const oldSeen = [];
oldWatcher.addEventListener("document", (event) => oldSeen.push(event.detail));
await new Promise((resolve) => oldWatcher.addEventListener("done", resolve));
told.oldWatched = titles(oldSeen);
oldWatcher.close();
console.log(JSON.stringify(told));
