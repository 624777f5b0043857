"""What the site does at each path. The first segment chooses; what follows it and the query are arguments."""

import asyncio
import gzip
import html
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import brotli

from tests.site.bombs import bomb, zstd

if TYPE_CHECKING:
    from tests.site.server import Reply, Request, Site

Handler = Callable[["Site", "Request", "Reply"], Awaitable[None]]

HTML = "Content-Type: text/html; charset=utf-8"
PAGE = "<!doctype html><title>Gossamer</title><p>Grüße aus dem Netz, und noch etwas mehr Text.</p>".encode()
GREETINGS = {  # in the charset of the same name, where all of it exists
    "utf-8": "Grüße, Привет, こんにちは",
    "iso-8859-1": "Grüße für 5 €",  # and the euro says that it is windows-1252
    "windows-1251": "Привет, как дела? Сегодня хорошая погода.",
    "shift_jis": "こんにちは、世界。今日は良い天気ですね。①",
    "euc-kr": "안녕하세요. 오늘 날씨가 좋습니다. 똠방각하",
    "gb2312": "世界你好。今天天气很好。朱镕基",
    "big5": "世界你好。今天天氣很好。",
    "utf-16le": "Grüße, Привет, こんにちは",
}
CODECS = {"iso-8859-1": "cp1252", "shift_jis": "cp932", "euc-kr": "cp949", "gb2312": "gb18030"}
MEGABYTE = 1024 * 1024

PATHS: dict[str, Handler] = {}


async def answer(site: "Site", request: "Request", reply: "Reply") -> None:
    first = request.path.split("/")[1]
    await PATHS.get(first, not_found)(site, request, reply)


def path(name: str) -> Callable[[Handler], Handler]:
    def added(handler: Handler) -> Handler:
        PATHS[name] = handler
        return handler

    return added


def head(*fields: str, status: str = "200 OK") -> bytes:
    return "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *fields, "")).encode("latin-1")


# As it should be.


@path("ok")
async def ok(site: "Site", request: "Request", reply: "Reply") -> None:
    if request.method == "HEAD":
        await reply.raw(head(f"Content-Length: {len(PAGE)}", HTML))
    else:
        await reply.send(PAGE, HTML)


async def not_found(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"<title>Not found</title>", HTML, status="404 Not Found")


@path("status")
async def status(site: "Site", request: "Request", reply: "Reply") -> None:
    """/status/{code}"""
    await reply.send(b"so be it", "Content-Type: text/plain", status=f"{request.path.split('/')[2]} Said")


@path("echo")
async def echo(site: "Site", request: "Request", reply: "Reply") -> None:
    """What arrived, as JSON."""
    told = {"method": request.method, "target": request.target, "headers": request.headers}
    await reply.send(json.dumps(told).encode(), "Content-Type: application/json")


@path("reflect")
async def reflect(site: "Site", request: "Request", reply: "Reply") -> None:
    """A page that says how it was asked for, and by a script under which fragment it is shown."""
    asked = html.escape(request.raw.decode("latin-1"))
    text = "Some pages repeat what a visitor sends along, whoever it comes from. " * 4
    script = "document.body.append(decodeURIComponent(location.hash))"
    page = f"<!doctype html><title>Reflected</title><h1>Reflected</h1><p>{text}</p><pre>{asked}</pre>"
    await reply.send(f"{page}<script>{script}</script>".encode(), HTML)


@path("cookies")
async def cookies(site: "Site", request: "Request", reply: "Reply") -> None:
    """Sets a cookie and redirects to itself until it comes back."""
    if "visited=yes" in (request.header("cookie") or ""):
        await ok(site, request, reply)
    else:
        fields = ("Set-Cookie: visited=yes; Path=/; HttpOnly", f"Location: {request.target}")
        await reply.send(b"", *fields, status="302 Found")


@path("big-1mb")
async def big(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"<p>" + b"x" * (MEGABYTE - 3), HTML)


@path("nested")
async def nested(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"<div>" * 200_000 + b"deep", HTML)


@path("empty")
async def empty(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"", HTML, "Content-Encoding: gzip")


@path("204")
async def no_content(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head(status="204 No Content"))


@path("304")
async def not_modified(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head('ETag: "1"', "Content-Length: 90", status="304 Not Modified"))


@path("chunked")
async def chunked(site: "Site", request: "Request", reply: "Reply") -> None:
    """With extensions, and a trailer."""
    await reply.raw(head("Transfer-Encoding: chunked", HTML))
    for start in range(0, len(PAGE), 16):
        piece = PAGE[start : start + 16]
        await reply.raw(f"{len(piece):x};name=value\r\n".encode() + piece + b"\r\n")
    await reply.raw(b"0\r\nX-Trailer: 1\r\n\r\n")


@path("interim")
async def interim(site: "Site", request: "Request", reply: "Reply") -> None:
    """/interim/{n}: so many answers of status 103 before the one that counts."""
    early = head("Link: </style.css>; rel=preload", status="103 Early Hints")
    await reply.raw(early * int(request.path.split("/")[2]))
    await ok(site, request, reply)


@path("until-close")
async def until_close(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head(HTML) + PAGE)
    reply.close()


@path("old-lines")
async def old_lines(site: "Site", request: "Request", reply: "Reply") -> None:
    """LF alone, and a folded field."""
    lines = ("HTTP/1.0 200 OK", HTML, "X-Folded: one", " two", f"Content-Length: {len(PAGE)}", "", "")
    await reply.raw("\n".join(lines).encode() + PAGE)
    reply.close()


# Content codings.


@path("gzip")
async def gzipped(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(gzip.compress(PAGE), HTML, "Content-Encoding: gzip")


@path("gzip-members")
async def gzip_members(site: "Site", request: "Request", reply: "Reply") -> None:
    """Two members, then bytes that are none."""
    body = gzip.compress(PAGE[:40]) + gzip.compress(PAGE[40:]) + b"\0\0trailing"
    await reply.send(body, HTML, "Content-Encoding: gzip")


@path("gzip-cut")
async def gzip_cut(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(gzip.compress(PAGE)[:-12], HTML, "Content-Encoding: gzip")


@path("gzip-not")
async def gzip_not(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(PAGE, HTML, "Content-Encoding: gzip")


@path("deflate")
async def deflated(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(zlib.compress(PAGE), HTML, "Content-Encoding: deflate")


@path("deflate-raw")
async def deflated_raw(site: "Site", request: "Request", reply: "Reply") -> None:
    stream = zlib.compressobj(6, zlib.DEFLATED, -15)
    await reply.send(stream.compress(PAGE) + stream.flush(), HTML, "Content-Encoding: deflate")


@path("br")
async def brotlied(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(brotli.compress(PAGE), HTML, "Content-Encoding: br")


@path("zstd")
async def zstandard(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(zstd.compress(PAGE), HTML, "Content-Encoding: zstd")


@path("stacked")
async def stacked(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(gzip.compress(gzip.compress(PAGE)), HTML, "Content-Encoding: gzip, gzip")


@path("unknown-coding")
async def unknown_coding(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(PAGE, HTML, "Content-Encoding: compress")


# Charsets.


@path("charset")
async def charset(site: "Site", request: "Request", reply: "Reply") -> None:
    """/charset/{label}?told=header|meta|bom|none"""
    label, told = request.path.split("/")[2], request.query("told", "header")
    text = f"<title>{GREETINGS[label]}</title>"
    if told == "meta":
        text = f'<meta charset="{label}">' + text
    body = ("\ufeff" if told == "bom" else "") + text
    declared = f"Content-Type: text/html; charset={label}" if told == "header" else "Content-Type: text/html"
    await reply.send(body.encode(CODECS.get(label, label)), declared)


@path("invalid-utf8")
async def invalid_utf8(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"<p>before \xff\xc3\x28\xed\xa0\x80 after</p>", HTML)


# Redirects.


@path("redirect")
async def redirect(site: "Site", request: "Request", reply: "Reply") -> None:
    """/redirect/{n}: n times, then /ok."""
    left = int(request.path.split("/")[2])
    target = f"/redirect/{left - 1}" if left > 1 else "/ok"
    await reply.send(b"on", f"Location: {target}", status="302 Found")


@path("redirect-to")
async def redirect_to(site: "Site", request: "Request", reply: "Reply") -> None:
    """/redirect-to?url=…&status=…"""
    said = f"{request.query('status', '302')} Elsewhere"
    await reply.send(b"elsewhere", f"Location: {request.query('url')}", status=said)


@path("redirect-nowhere")
async def redirect_nowhere(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"but not where to", HTML, status="302 Found")


@path("redirect-bomb")
async def redirect_bomb(site: "Site", request: "Request", reply: "Reply") -> None:
    """A bomb as the body of a redirect."""
    await reply.send(bomb("br"), "Content-Encoding: br", "Location: /ok", status="301 Moved Permanently")


@path("loop")
async def loop(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(b"", "Location: /loop" + ("" if request.query("b") else "?b=1"), status="302 Found")


# Errors that pass.


@path("503-then-ok")
async def unavailable_then_ok(site: "Site", request: "Request", reply: "Reply") -> None:
    """/503-then-ok?times=1&after=0: so many times for each target."""
    if len(site.seen(request.target)) > int(request.query("times", "1")):
        await ok(site, request, reply)
    else:
        after = request.query("after", "0")
        await reply.send(b"not now", f"Retry-After: {after}", status="503 Service Unavailable")


@path("429")
async def too_many(site: "Site", request: "Request", reply: "Reply") -> None:
    after = request.query("after", "1")
    await reply.send(b"slower", f"Retry-After: {after}", status="429 Too Many Requests")


@path("drop-then-ok")
async def drop_then_ok(site: "Site", request: "Request", reply: "Reply") -> None:
    if len(site.seen(request.target)) > 1:
        await ok(site, request, reply)
    else:
        reply.close()


# Time.


@path("slow")
async def slow(site: "Site", request: "Request", reply: "Reply") -> None:
    """A page in drips; /slow?pause=0.05&bytes=1"""
    pause, size = float(request.query("pause", "0.05")), int(request.query("bytes", "1"))
    await reply.raw(head(f"Content-Length: {len(PAGE)}", HTML))
    for start in range(0, len(PAGE), size):
        await reply.raw(PAGE[start : start + size])
        await asyncio.sleep(pause)


@path("steady")
async def steady(site: "Site", request: "Request", reply: "Reply") -> None:
    """For ever, at 80 KB a second."""
    await reply.raw(head(HTML))
    while True:
        await reply.raw(b"x" * 4000)
        await asyncio.sleep(0.05)


@path("one-byte-a-second")
async def one_byte_a_second(site: "Site", request: "Request", reply: "Reply") -> None:
    """For ever, and from the status line on."""
    for byte in head("Content-Length: 1000000", HTML):
        await reply.raw(bytes([byte]))
        await asyncio.sleep(1)
    while True:
        await reply.raw(b"x")
        await asyncio.sleep(1)


@path("first-byte-late")
async def first_byte_late(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.hang()


@path("stall")
async def stall(site: "Site", request: "Request", reply: "Reply") -> None:
    """Half a page, and then nothing."""
    await reply.raw(head(f"Content-Length: {len(PAGE)}", HTML) + PAGE[:40])
    await reply.hang()


# Sizes.


@path("huge")
async def huge(site: "Site", request: "Request", reply: "Reply") -> None:
    """Endless."""
    await reply.raw(head(HTML))
    while True:
        await reply.raw(b"x" * MEGABYTE)


@path("huge-chunked")
async def huge_chunked(site: "Site", request: "Request", reply: "Reply") -> None:
    """Endless, in chunks of one byte."""
    await reply.raw(head("Transfer-Encoding: chunked", HTML))
    while True:
        await reply.raw(b"1\r\nx\r\n" * 50_000)


@path("huge-extensions")
async def huge_extensions(site: "Site", request: "Request", reply: "Reply") -> None:
    """Endless, and nearly nothing of it is body."""
    await reply.raw(head("Transfer-Encoding: chunked", HTML))
    while True:
        await reply.raw(b"1;" + b"e" * 8000 + b"\r\nx\r\n")


@path("huge-declared")
async def huge_declared(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head("Content-Length: 10000000001", HTML))
    await reply.hang()


@path("huge-trailers")
async def huge_trailers(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head("Transfer-Encoding: chunked", HTML) + b"1\r\nx\r\n0\r\n")
    while True:
        await reply.raw(b"X-Trailer: " + b"t" * 8000 + b"\r\n")


@path("headers-1mb")
async def headers_1mb(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head("X-Long: " + "x" * MEGABYTE, "Content-Length: 0"))


@path("headers-endless")
async def headers_endless(site: "Site", request: "Request", reply: "Reply") -> None:
    """One field that never ends."""
    await reply.raw(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        await reply.raw(b"x" * 8192)


@path("many-headers")
async def many_headers(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(PAGE, *(f"X-Field-{number}: 1" for number in range(101)))


async def _bomb(reply: "Reply", coding: str) -> None:
    await reply.send(bomb(coding), HTML, f"Content-Encoding: {coding}")


@path("bomb.gz")
async def bomb_gzip(site: "Site", request: "Request", reply: "Reply") -> None:
    await _bomb(reply, "gzip")


@path("bomb.deflate")
async def bomb_deflate(site: "Site", request: "Request", reply: "Reply") -> None:
    await _bomb(reply, "deflate")


@path("bomb.br")
async def bomb_brotli(site: "Site", request: "Request", reply: "Reply") -> None:
    await _bomb(reply, "br")


@path("bomb.zst")
async def bomb_zstd(site: "Site", request: "Request", reply: "Reply") -> None:
    await _bomb(reply, "zstd")


# Broken off, and nonsense.


@path("drop")
async def drop(site: "Site", request: "Request", reply: "Reply") -> None:
    """No answer at all; /drop?after=n: half an answer."""
    await reply.raw(head(f"Content-Length: {len(PAGE)}", HTML)[: int(request.query("after", "0"))])
    reply.close()


@path("reset")
async def reset(site: "Site", request: "Request", reply: "Reply") -> None:
    reply.reset()


@path("length-short")
async def length_short(site: "Site", request: "Request", reply: "Reply") -> None:
    """Less than was promised."""
    await reply.raw(head(f"Content-Length: {len(PAGE) + 100}", HTML) + PAGE)
    reply.close()


@path("length-long")
async def length_long(site: "Site", request: "Request", reply: "Reply") -> None:
    """More than was promised."""
    await reply.raw(head("Content-Length: 40", HTML) + PAGE)


@path("length-twice")
async def length_twice(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head(f"Content-Length: {len(PAGE)}", "Content-Length: 1", HTML) + PAGE)


@path("length-and-chunked")
async def length_and_chunked(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head("Content-Length: 5", "Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\n\r\n")


@path("chunked-bad")
async def chunked_bad(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head("Transfer-Encoding: chunked", HTML) + b"zz\r\n" + PAGE)


@path("chunked-cut")
async def chunked_cut(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head("Transfer-Encoding: chunked", HTML) + b"5\r\nhello\r\n")
    reply.close()


@path("transfer-gzip")
async def transfer_gzip(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(head("Transfer-Encoding: gzip, chunked", HTML) + b"1\r\nx\r\n0\r\n\r\n")


@path("not-http")
async def not_http(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(b"220 mail.example ESMTP ready\r\n")
    await reply.hang()


@path("http-0.9")
async def http_09(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.raw(PAGE)
    reply.close()


@path("nul-header")
async def nul_header(site: "Site", request: "Request", reply: "Reply") -> None:
    await reply.send(PAGE, "X-Nul: a\0b")


@path("upgrade")
async def upgrade(site: "Site", request: "Request", reply: "Reply") -> None:
    fields = ("Upgrade: websocket", "Connection: upgrade")
    await reply.raw(head(*fields, status="101 Switching Protocols") + b"\x81\x05hello")
    await reply.hang()


@path("half-close")
async def half_close(site: "Site", request: "Request", reply: "Reply") -> None:
    """A whole page until the end of what we send; the socket stays open."""
    await reply.raw(head(HTML) + PAGE)
    reply.half_close()
    await reply.hang()


@path("cut")
async def cut(site: "Site", request: "Request", reply: "Reply") -> None:
    """Half a page, then TCP ends without a word of TLS. /cut?length=no: and its length was not told."""
    length = [] if request.query("length") else [f"Content-Length: {len(PAGE)}"]
    await reply.raw(head(*length, HTML) + PAGE[:40])
    reply.cut()
