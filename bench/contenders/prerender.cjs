// npm's prerender as its own server.js starts it: node prerender.cjs PACKAGE PORT CHROMIUM FLAGS…
const [folder, port, chromeLocation, ...extraChromeFlags] = process.argv.slice(2)
const prerender = require(folder)

const server = prerender({
  host: '127.0.0.1',
  port: Number(port),
  browserDebuggingPort: Number(port) + 1,
  chromeLocation,
  extraChromeFlags,
})
server.use(prerender.sendPrerenderHeader())
server.use(prerender.browserForceRestart())
server.use(prerender.addMetaTags())
server.use(prerender.removeScriptTags())
server.use(prerender.httpHeaders())
server.start()

// Whoever started it may end without a word; then its browser is not to stay behind.
process.stdin.on('end', () => process.kill(-process.pid, 'SIGKILL')).resume()
