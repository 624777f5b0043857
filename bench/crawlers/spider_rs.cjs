// spider-rs: crawls each host, and writes every page to its output as a line of JSON and the bytes of the body.
const { readFileSync } = require('node:fs')
const { Website } = require('@spider-rs/spider-rs')

const HOSTS_AT_ONCE = 16
const TRACKED = '[?&;](utm_[a-z]+|ref|source)='
const PAGES = 1_000_000

let kept = 0
let found = 0

function keep(error, page) {
  if (error) throw error
  kept += 1
  const body = page.rawContent ?? Buffer.from(page.content)
  const about = { url: page.url, status: page.statusCode, headers: page.headers ?? {}, size: body.length }
  process.stdout.write(Buffer.concat([Buffer.from(JSON.stringify(about) + '\n'), body]))
}

async function crawl(seeds) {
  for (let seed = seeds.shift(); seed; seed = seeds.shift()) {
    const site = new Website(seed, true)
      .withRespectRobotsTxt(true)
      .withBlacklistUrl([TRACKED])
      .withBudget({ '*': PAGES })
      .build()
    await site.crawl(keep)
    found += site.size
  }
}

// Pages may be handed over after the end of a crawl, and its callback keeps node from ending by itself.
function end() {
  if (kept < found) return setTimeout(end, 10)
  process.stdout.end(() => process.exit())
}

const seeds = readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean)
Promise.all(Array.from({ length: HOSTS_AT_ONCE }, () => crawl(seeds))).then(end)
