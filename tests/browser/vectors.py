# ruff: noqa: E501 - each vector is one line of a table, whatever its length
"""Every way that a page has to make a browser talk to somebody, each aimed at an address of its own.

`{url}` is `http://HOST/NAME`, `{host}` is `ADDRESS:PORT`, `{address}` the address and `{port}` the port.

A vector counts if it is seen to arrive where nothing is in its way: either through the proxy, with every layer
in force, when its address is one that may be reached, or, where the layers keep it from being sent at all, with
the layers off. What arrives in neither case proves nothing when it does not arrive: it is tried, because another
Chromium may do it, but does not count, and `unseen` says why this one does not.
"""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

Where = Literal["html", "script", "worker", "shared", "service", "frame", "header", "page", "leaving"]


@dataclass(frozen=True)
class Vector:
    name: str
    where: Where
    code: str
    proxied: bool = True  # whether it is asked of the proxy; else the layers do not let it out at all
    unseen: str = ""  # why it is not seen to arrive, and does not count


def _all(where: Where, *vectors: tuple[str, str], proxied: bool = True, unseen: str = "") -> list[Vector]:
    return [Vector(name, where, code, proxied, unseen) for name, code in vectors]


_SAME_ORIGIN = "only from the page's own origin: refused before anything is sent"
_NOT_IN_THE_SHELL = "the headless shell has no such part of Chromium"
_REMOVED = "Chromium no longer has it"
_NO_REPORTS = "the headless shell sends no reports: tried over TLS, trusted, with the shortest delay"
_ONE_PAGE = "no second page is ever opened (`--block-new-web-contents`)"

VECTORS = [
    # What a document names.
    *_all(
        "html",
        ("image", '<img src="{url}">'),
        ("image-srcset", '<img srcset="{url} 1x">'),
        ("picture", '<picture><source srcset="{url}"><img></picture>'),
        ("script", '<script src="{url}"></script>'),
        ("module", '<script type="module" src="{url}"></script>'),
        ("stylesheet", '<link rel="stylesheet" href="{url}">'),
        ("css-url", '<p style="background: url({url})">x</p>'),
        ("css-import", '<style>@import "{url}";</style>'),
        ("css-font", "<style>@font-face {{ font-family: f; src: url({url}) }}</style><p style='font-family:f'>x"),
        ("css-content", '<style>#content::before {{ content: url({url}) }}</style><p id="content">'),
        ("background", '<table background="{url}"><tr><td>x</table>'),
        ("iframe", '<iframe src="{url}"></iframe>'),
        ("iframe-srcdoc", "<iframe srcdoc='<img src={url}>'></iframe>"),
        ("iframe-data", '<iframe src="data:text/html,<img src={url}>"></iframe>'),
        ("object", '<object data="{url}"></object>'),
        ("embed", '<embed src="{url}">'),
        ("video", '<video src="{url}" preload="auto"></video>'),
        ("video-poster", '<video poster="{url}"></video>'),
        ("audio", '<audio src="{url}" preload="auto"></audio>'),
        ("input-image", '<input type="image" src="{url}">'),
        ("svg-image", '<svg><image href="{url}" width="9" height="9"/></svg>'),
        ("svg-xlink", '<svg><image xlink:href="{url}" width="9" height="9"/></svg>'),
        ("svg-feimage", '<svg><filter id="f"><feImage href="{url}"/></filter><rect filter="url(#f)"/></svg>'),
        ("preload", '<link rel="preload" as="fetch" href="{url}" crossorigin>'),
        ("modulepreload", '<link rel="modulepreload" href="{url}">'),
        ("prefetch", '<link rel="prefetch" href="{url}">'),
    ),
    *_all(
        "html",
        ("speculation-prefetch", '<script type="speculationrules">{{"prefetch": [{{"urls": ["{url}"], "eagerness": "immediate"}}]}}</script>'),
        ("speculation-prerender", '<script type="speculationrules">{{"prerender": [{{"urls": ["{url}"], "eagerness": "immediate"}}]}}</script>'),
        proxied=False,
    ),
    *_all(
        "html",
        ("preconnect", '<link rel="preconnect" href="http://{host}">'),
        ("dns-prefetch", '<link rel="dns-prefetch" href="http://{host}">'),
        ("icon", '<link rel="icon" href="{url}">'),
        ("manifest", '<link rel="manifest" href="{url}">'),
        ("attribution", '<img attributionsrc="{url}">'),
        unseen=_NOT_IN_THE_SHELL,
    ),
    *_all("html", ("svg-use", '<svg><use href="{url}#x"/></svg>'), unseen=_SAME_ORIGIN),
    *_all(
        "html",
        ("prerender", '<link rel="prerender" href="{url}">'),
        ("portal", '<portal src="{url}"></portal>'),
        unseen=_REMOVED,
    ),
    # What a script does.
    *_all(
        "script",
        ("fetch", "fetch('{url}')"),
        ("fetch-no-cors", "fetch('{url}', {{mode: 'no-cors', method: 'POST', body: 'x'}})"),
        ("fetch-keepalive", "fetch('{url}', {{mode: 'no-cors', keepalive: true}})"),
        ("fetch-redirect", "fetch('/redirect?to={quoted}', {{mode: 'no-cors'}})"),
        ("fetch-redirects", "fetch('/redirect?to=/redirect?to={twice}', {{mode: 'no-cors'}})"),
        ("image-redirect", "new Image().src = '/redirect?to={quoted}'"),
        ("xhr", "const x = new XMLHttpRequest(); x.open('GET', '{url}'); x.send()"),
        ("beacon", "navigator.sendBeacon('{url}', 'x')"),
        ("event-source", "new EventSource('{url}')"),
        ("web-socket", "new WebSocket('ws://{host}/')"),
        ("import", "import('{url}').catch(() => 0)"),
        ("new-image", "new Image().src = '{url}'"),
        ("new-audio", "new Audio('{url}').load()"),
        ("frame-location", "frame().contentWindow.location = '{url}'"),
        ("frame-redirect", "frame().src = '/redirect?to={quoted}'"),
        ("frame-form", "frame().srcdoc = '<form method=post action={url}></form><script>document.forms[0].submit()</script>'"),
        ("frame-refresh", "frame().srcdoc = '<meta http-equiv=refresh content=\"0;url={url}\">'"),
        ("frame-javascript", "frame().src = \"javascript:fetch('{url}')\""),
        ("frame-blob", "frame().src = URL.createObjectURL(new Blob(['<img src={url}>'], {{type: 'text/html'}}))"),
        ("download", "frame().srcdoc = '<a id=a download href={url}>x</a><script>a.click()</script>'"),
        ("worker-import", "new Worker(source('importScripts(`{url}`)'))"),
        ("worklet", "CSS.paintWorklet.addModule('{url}').catch(() => 0)"),
        ("audio-worklet", "new OfflineAudioContext(1, 9, 8000).audioWorklet.addModule('{url}').catch(() => 0)"),
        ("font-face", "new FontFace('g', 'url({url})').load().catch(() => 0)"),
        ("css-insert", "document.styleSheets[0].insertRule('body {{ background: url({url}) }}')"),
    ),
    *_all(
        "script",
        ("web-socket-secure", "new WebSocket('wss://{host}/')"),
        ("fetch-secure", "fetch('https://{host}/').catch(() => 0)"),
    ),
    *_all(
        "script",
        ("track", "const v = document.createElement('video'); v.crossOrigin = ''; v.innerHTML = '<track src={url}>'; document.body.append(v); v.textTracks[0].mode = 'showing'"),
        ("ping", "const a = document.createElement('a'); a.href = '#'; a.ping = '{url}'; document.body.append(a); a.click()"),
        ("identity", "navigator.credentials.get({{identity: {{providers: [{{configURL: '{url}', clientId: 'x'}}]}}}}).catch(() => 0)"),
    ),
    *_all(
        "script",
        ("popup", "window.open('{url}')"),
        ("popup-opener", "window.open('{url}', '_blank', 'noopener')"),
        unseen=_ONE_PAGE,
    ),
    *_all(
        "script",
        ("worker-remote", "new Worker('{url}')"),
        ("shared-worker-remote", "new SharedWorker('{url}')"),
        unseen=_SAME_ORIGIN,
    ),
    *_all(
        "script",
        ("payment", "new PaymentRequest([{{supportedMethods: 'https://{host}/pay'}}], {{total: {{label: 'x', amount: {{currency: 'EUR', value: '1'}}}}}}).canMakePayment().catch(() => 0)"),
        ("background-fetch", "navigator.serviceWorker.ready.then(r => r.backgroundFetch.fetch('x', ['{url}'])).catch(() => 0)"),
        unseen=_NOT_IN_THE_SHELL,
    ),
    *_all(
        "script",
        ("shared-storage", "sharedStorage.worklet.addModule('{url}').catch(() => 0)"),
        ("ftp-scheme", "frame().src = 'ftp://{host}/x'"),
        unseen=_REMOVED,
    ),
    *_all("script", ("view-source", "frame().src = 'view-source:{url}'"), unseen="refused to pages"),
    *_all(
        "script",
        ("file-scheme", "frame().src = 'file:///etc/passwd'"),
        ("chrome-scheme", "frame().src = 'chrome://version'"),
        unseen="no request to an address; what files can be seen has a test of its own",
    ),
    # Calls, which find their own way, mostly by datagrams.
    *_all(
        "script",
        ("turn-tcp", "peer('turn:{host}?transport=tcp')"),
        ("turns-tcp", "peer('turns:{host}?transport=tcp')"),
        ("stun", "peer('stun:{host}')"),
        ("turn-udp", "peer('turn:{host}?transport=udp')"),
        ("web-transport", "new WebTransport('https://{host}/').ready.catch(() => 0)"),
        ("ice-candidate", "connect('{address}', {port})"),
        proxied=False,
    ),
    # Who is not the page.
    *_all("worker", ("worker-fetch", "fetch('{url}')"), ("worker-socket", "new WebSocket('ws://{host}/')")),
    *_all("worker", ("worker-nested", "new Worker(URL.createObjectURL(new Blob([`fetch('{url}')`])))")),
    *_all("worker", ("worker-xhr", "const x = new XMLHttpRequest(); x.open('GET', '{url}', false); x.send()")),
    *_all("shared", ("shared-fetch", "fetch('{url}')"), ("shared-socket", "new WebSocket('ws://{host}/')")),
    *_all("service", ("service-fetch", "fetch('{url}', {{mode: 'no-cors'}})")),
    *_all("frame", ("frame-sandboxed", "<img src={url}>"), ("frame-policy", "<script>fetch('{url}')</script>")),
    # What an answer's head says.
    *_all("header", ("link-preload", 'Link: <{url}>; rel=preload; as=image')),
    *_all(
        "header",
        ("refresh-header", "Refresh: 0; url={url}"),
        ("location", "Location: {url}"),
        ("policy-report", "Content-Security-Policy-Report-Only: img-src 'none'; report-uri {url}"),
    ),
    *_all("header", ("link-preconnect", "Link: <http://{host}>; rel=preconnect"), unseen=_NOT_IN_THE_SHELL),
    *_all(
        "header",
        ("report-to", 'Report-To: {{"group":"g","max_age":99,"endpoints":[{{"url":"https://{host}/"}}]}}'),
        ("network-errors", 'NEL: {{"report_to":"g","max_age":99,"success_fraction":1.0}}'),
        ("reporting", 'Reporting-Endpoints: r="https://{host}/"'),
        ("permissions-report", 'Permissions-Policy-Report-Only: camera=()'),
        unseen=_NO_REPORTS,
    ),
    # What is sent when a page is left, and what the head of a whole page says.
    *_all("leaving", ("fetch-later", "fetchLater('https://{host}/', {{activateAfter: 0}})")),
    *_all("page", ("speculation-header", 'Speculation-Rules: "{url}"')),
]  # fmt: skip


def address(number: int) -> str:
    """A forbidden address for every vector."""
    return f"127.1.0.{number + 1}"


def aimed(vector: Vector, at: str, port: int) -> str:
    host = f"{at}:{port}"
    url = f"http://{host}/{vector.name}"
    quoted = quote(url, safe="")
    return vector.code.format(
        url=url, host=host, address=at, port=port, quoted=quoted, twice=quote(quoted, safe="")
    )
