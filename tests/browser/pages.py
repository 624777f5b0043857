"""Pages for a browser: what `/page/NAME` of the site is, and what stands behind them."""

import asyncio
from typing import TYPE_CHECKING

from tests.site.paths import HTML, path

if TYPE_CHECKING:
    from tests.site.server import Reply, Request, Site

DONE = "all of it is here"
SAID = "'all of it ' + 'is here'"  # the same, from a script that does not contain it
_WORKER = "new Worker(URL.createObjectURL(new Blob(['{}'])))"


def script(code: str, rest: str = "<p id=out></p>") -> str:
    return f"<!doctype html><title>A page</title>{rest}<script>{code}</script>"


# Complete only after they have run for a while, each in its own way.
COMPLETE = {
    "inline": script(f"out.textContent = {SAID}"),
    "fetched": script(f"fetch('/data?fetched').then(() => out.textContent = {SAID})"),
    "slowly-fetched": script(f"fetch('/data?seconds=1').then(() => out.textContent = {SAID})"),
    "chain": script(
        "(async () => { for (let i = 0; i < 4; i++) { await fetch('/data?chain' + i);"
        f" await new Promise((go) => setTimeout(go, 80)); }} out.textContent = {SAID} }})()"
    ),
    "timers": script(f"setTimeout(() => setTimeout(() => out.textContent = {SAID}, 400), 400)"),
    "never-idle": script(
        "const busy = new MessageChannel(), go = () => busy.port2.postMessage(0);"
        "const work = () => { for (const end = performance.now() + 5; performance.now() < end;); };"
        "busy.port1.onmessage = () => { work(); go() };"
        f"go(); requestIdleCallback(() => {{ busy.port1.close(); out.textContent = {SAID} }})"
    ),
    "worker": script(
        "const worker = "
        + _WORKER.format("setTimeout(() => postMessage(1), 300)")
        + f"; worker.onmessage = () => out.textContent = {SAID}"
    ),
    "transition": script(
        "out.ontransitionend = () => out.textContent = " + SAID + ";"
        "requestAnimationFrame(() => requestAnimationFrame(() => out.style.opacity = 0))",
        "<style>p { transition: opacity 0.4s }</style><p id=out>wait</p>",
    ),
    "seen": script(
        "const seen = ([entry]) => { if (entry.isIntersecting) out.textContent = " + SAID + " };"
        "new IntersectionObserver(seen).observe(out)",
        "<div style='height: 1500px'></div><p id=out>wait</p>",
    ),
    "module": "<!doctype html><p id=out></p><script type=module src=/module></script>",
    "shadow": script(
        "customElements.define('x-card', class extends HTMLElement { connectedCallback() {"
        " const root = this.attachShadow({ mode: 'open' }); root.innerHTML = '<b>wait</b>';"
        f" setTimeout(() => root.innerHTML = `<b>${{{SAID}}}</b>`, 300) }} }})",
        "<x-card></x-card>",
    ),
    "polling": script(
        f"setInterval(() => fetch('/data?poll'), 120); fetch('/data').then(() => out.textContent = {SAID})"
    ),
    "unread": script(f"fetch('/unread').then(() => out.textContent = {SAID})"),
    "streaming": script(f"new EventSource('/hang'); out.textContent = {SAID}"),
    "ticking": script(
        f"setInterval(() => clock.textContent = Math.random(), 30); out.textContent = {SAID}",
        "<p id=clock></p><p id=out></p>",
    ),
    "written": script(
        f"document.open(); document.write(`<!doctype html><p>${{{SAID}}}</p>`); document.close()"
    ),
    "static": f"<!doctype html><title>A page</title><p>{DONE}</p>",
    "redefined": script(
        "Promise = MutationObserver = CustomEvent = Event = null; JSON.stringify = () => { throw 1 };"
        "document.querySelector = document.dispatchEvent = () => { throw 2 };"
        f"Object.prototype.toJSON = () => 'nonsense'; out.textContent = {SAID}"
    ),
    "dialogs": script(f"alert(1); out.textContent = confirm(2) || prompt(3) || {SAID}"),
    "popups": script(
        "let opened = 0; for (let i = 0; i < 200; i++) opened += window.open('/page/static?popup') !== null;"
        f"if (opened === 0) out.textContent = {SAID}"
    ),
    "downloads": script(
        "for (let i = 0; i < 20; i++) { const link = document.createElement('a');"
        " link.href = '/download?' + i; link.download = 'file'; link.click() }"
        f"out.textContent = {SAID}"
    ),
    "permissions": script(
        "Promise.all(['geolocation', 'notifications', 'camera'].map((name) =>"
        " navigator.permissions.query({ name }))).then((all) =>"
        f" all.every((each) => each.state === 'denied') && (out.textContent = {SAID}))"
    ),
    "closing": script(f"window.close(); out.textContent = {SAID}"),
    "surrogates": script(f"console.error('half \\ud800'); out.textContent = {SAID} + '\\udc00'"),
    "framed": script(f"out.textContent = {SAID}", "<iframe src=/page/dialogs></iframe><p id=out></p>"),
}
OTHERS = {
    "ready": script(
        "window.prerenderReady = false; setTimeout(() => out.textContent = " + SAID + ", 700);"
        "setTimeout(() => window.prerenderReady = true, 900)"
    ),
    "never-ready": script(f"window.prerenderReady = false; out.textContent = {SAID}"),
    "late": script("setTimeout(() => out.innerHTML = '<i class=late>here</i>', 1200)"),
    "meta-refresh": "<meta http-equiv=refresh content='1;url=/page/static?refreshed'><p>wait",
    "location": script("location.href = '/page/static?relocated'"),
    "pushed": script("history.pushState({}, '', '/page/pushed/on#there')"),
    "errors": script(
        "console.error('said', 'so'); Promise.reject(new Error('nobody caught')); nothing.at.all()"
    ),
    "reloaded": script(
        "if (!sessionStorage.seen) { sessionStorage.seen = 1; location.reload() }"
        f" else out.textContent = {SAID}"
    ),
    "circle": script("setTimeout(() => location.reload(), 10)"),
    "blob": script("location.href = URL.createObjectURL(new Blob(['<p>mine</p>'], { type: 'text/html' }))"),
    "pictures": "<!doctype html><link rel=stylesheet href=/style><img src=/picture?1><p>text</p>"
    "<video src=/picture?video></video><script src=/script></script><iframe src='/page/picture'></iframe>",
    "picture": "<img src=/picture?framed>",
    "drawn": script(
        "new PerformanceObserver(() => out.className = 'drawn').observe({ type: 'paint', buffered: true });"
        f"setTimeout(() => out.textContent = {SAID}, 200)",
        "<p id=out>wait</p>",
    ),
    "storage": script(
        "out.textContent = JSON.stringify([document.cookie, localStorage.length, sessionStorage.length]);"
        "document.cookie = 'left=behind; max-age=1000'; localStorage.left = sessionStorage.left = 'behind'"
    ),
    "worker-serviced": script(
        "navigator.serviceWorker.register('/service-worker').then(() => navigator.serviceWorker.ready)"
        ".then(() => location.search || (location.search = '?again'))"
    ),
    "tall": "<!doctype html><style>body { margin: 0; background: white }"
    " @media (prefers-color-scheme: dark) { body { background: black } }"
    " div { height: 3000px } p { margin: 0; width: 120px; height: 40px }</style><div></div><p>end</p>",
    "wide": "<!doctype html><style>div { width: 20000px; height: 9px }</style><div></div>",
    "placed": "<!doctype html><style>body { margin: 0 } p { position: absolute; margin: 0; background: #f00 }"
    " #split { left: 10.5px; top: 20.25px; width: 100.25px; height: 30.5px }"
    " #half { left: -40px; top: 0; width: 100px; height: 10px }"
    " #gone { left: -400px; top: 0; width: 100px; height: 10px }"
    " #tall { left: 0; top: 0; width: 50px; height: 40000px }</style>"
    "<p id=split></p><p id=half></p><p id=gone></p><p id=tall></p>",
    "moving": "<!doctype html><style>body { margin: 0; animation: ends 600s forwards }"
    " @keyframes ends { from { background: #ff0000 } to { background: #0000ff } }"
    " p { animation: turns 0.7s infinite } @keyframes turns { to { transform: rotate(360deg) } }</style>"
    "<p>round and round</p><textarea autofocus>a caret that blinks</textarea>"
    "<x-card></x-card><script>customElements.define('x-card', class extends HTMLElement {"
    " connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML ="
    " '<style>b { display: block; width: 9px; height: 9px; background: red; animation: fade 1s infinite }"
    " @keyframes fade { to { opacity: 0 } }</style><b></b>' } })</script>",
    "lazy": "<!doctype html><div style='height: 9000px'></div><img src=/picture?lazy loading=lazy>",
    "noise": script(
        "const context = out.getContext('2d'), data = context.createImageData(out.width, out.height);"
        "let x = 1; for (let i = 0; i < data.data.length; i++) {"
        " x ^= x << 13; x ^= x >> 17; x ^= x << 5; data.data[i] = i % 4 === 3 ? 255 : x & 255 }"
        "context.putImageData(data, 0, 0)",
        "<style>body { margin: 0 }</style><canvas id=out width=2200 height=2000></canvas>",
    ),
    "sheets": "<!doctype html><title>Sheets</title><style>p { break-after: page; background: #f00 }</style>"
    + "".join(f"<p>Sheet number {number}.</p>" for number in range(1, 5))
    + "<a href='x(/Type /Pages /Count 99)'>the last one</a>",
    "endless-height": "<!doctype html><style>body { margin: 0 } div { height: 900000px }</style><div></div>",
}
HOSTILE = {
    "loop": script("for (;;);"),
    "workers": script("for (let i = 0; i < 300; i++) " + _WORKER.format("for(;;);")),
    "push-state": script(
        "setInterval(() => { for (let i = 0; i < 1000; i++)"
        " history.pushState({}, '', '?' + Math.random()) }, 0)"
    ),
    "allocate": script(
        "const all = []; (function more() {"
        " for (let i = 0; i < 8; i++) all.push(new Uint8Array(1e7).fill(7));"
        " setTimeout(more, 0) })()"
    ),
    "never-loads": "<!doctype html><p>text</p><script src=/hang></script><p>more</p>",
    "dialogs-for-ever": script(
        "onbeforeunload = () => 'no'; setInterval(() => { alert(1); confirm(2); prompt(3) }, 0)"
    ),
    "requests": script(
        "setInterval(() => { for (let i = 0; i < 500; i++)"
        " fetch('/data?' + Math.random()).catch(() => 0) }, 0)"
    ),
    "long-addresses": script(
        "const long = 'data:text/plain,' + 'x'.repeat(1e6);"
        "setInterval(() => { for (let i = 0; i < 10; i++) fetch(long + Math.random()) }, 0)"
    ),
    "grow": script(
        "setInterval(() => { for (let i = 0; i < 1e5; i++)"
        " document.body.append(document.createElement('p')) }, 0)"
    ),
    "frames": script(
        "for (let i = 0; i < 300; i++) { const frame = document.createElement('iframe');"
        " frame.src = '/page/static?' + i; document.body.append(frame) }"
    ),
}
PAGES = COMPLETE | OTHERS | HOSTILE

GIF = bytes.fromhex("47494638396101000100800000ff0000ffffff2c00000000010001000002024401003b")


@path("page")
async def page(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(PAGES[request.path.split("/")[2]].encode(), HTML)


@path("embeds")
async def embeds(site: "Site", request: "Request", reply: "Reply") -> None:
    """/embeds?url=…: a page with a script from there."""
    await reply.send(f"<!doctype html><script src='{request.query('url')}'></script><p>text".encode(), HTML)


@path("leads")
async def leads(site: "Site", request: "Request", reply: "Reply") -> None:
    """/leads?url=…: a page whose script goes there."""
    await reply.send(script(f"location.href = '{request.query('url')}'").encode(), HTML)


@path("data")
async def data(site: "Site", request: "Request", reply: "Reply") -> None:
    """/data?seconds=…"""
    await asyncio.sleep(float(request.query("seconds", "0.02")))
    await reply.send(b'{"some": "data"}', "Content-Type: application/json")


@path("unread")
async def unread(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"x" * 1_000_000, "Content-Type: text/plain", "Cache-Control: no-store")


@path("module")
async def module(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(f"out.textContent = {SAID}".encode(), "Content-Type: text/javascript")


@path("script")
async def plain_script(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"document.title = 'run'", "Content-Type: text/javascript")


@path("style")
async def style(site: "Site", request: "Request", reply: "Reply") -> None:
    body = b"@font-face { font-family: F; src: url(/picture?font) }"
    body += b"p { font-family: F; background: url(/picture?css) }"
    await reply.send(body, "Content-Type: text/css")


@path("picture")
async def picture(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(GIF, "Content-Type: image/gif")


@path("download")
async def download(site: "Site", request: "Request", reply: "Reply") -> None:
    fields = ("Content-Type: application/octet-stream", "Content-Disposition: attachment; filename=file")
    await reply.send(b"x" * 1000, *fields)


@path("hang")
async def hang(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.hang()


@path("service-worker")
async def service_worker(site: "Site", request: "Request", reply: "Reply") -> None:
    body = b"onfetch = (event) => event.respondWith(new Response('from the worker'))"
    await reply.send(body, "Content-Type: text/javascript", "Service-Worker-Allowed: /")


@path("given")
async def given(site: "Site", request: "Request", reply: "Reply") -> None:
    """/given?html=…&cookie=…: a page of this HTML, with this cookie."""
    fields = (f"Set-Cookie: {request.query('cookie')}",) if request.query("cookie") else ()
    await reply.send(f"<!doctype html>{request.query('html')}".encode(), HTML, *fields)
