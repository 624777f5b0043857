"""What is served of a rendered document: no scripts, right links, and everything else as it was."""

import re
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gossamer.web.render.prerender import CHARSET, HEADERS, MAX_HEADERS, prerender

URL = "https://shop.example/a/b?c=1#top"
BASE = '<base href="https://shop.example/a/b?c=1">'
TOP = CHARSET + BASE


def served(html: str, url: str = URL, *, keep_scripts: bool = False) -> str:
    return prerender(html, url, keep_scripts=keep_scripts).html


def test_scripts_go_and_everything_else_stays() -> None:
    html = (
        "<!DOCTYPE html><html lang=en><head><title>A <script> in a title</title>"
        "<script>run('</b>')</script><script src=/app.js async=''></script >"
        '<script type="Application/LD+JSON; charset=utf-8">{"a": "</b>"}</script></head>'
        '<body onload=go()><!-- <script>not one</script> --><p title="<script>not one</script>">x</p>'
        "<textarea><script>not one</script></textarea><style>a::after{content:'<script>'}</style>"
        "<script type=module>import '/x.js'</script><template shadowrootmode=open><script>1</script><b>s</b>"
        "</template><noscript><script>2</script>Turn it on.</noscript></body></html>"
    )
    assert served(html) == (
        f"<!DOCTYPE html><html lang=en><head>{TOP}<title>A <script> in a title</title>"
        '<script type="Application/LD+JSON; charset=utf-8">{"a": "</b>"}</script></head>'
        '<body onload=go()><!-- <script>not one</script> --><p title="<script>not one</script>">x</p>'
        "<textarea><script>not one</script></textarea><style>a::after{content:'<script>'}</style>"
        "<template shadowrootmode=open><b>s</b>"
        "</template><noscript>Turn it on.</noscript></body></html>"
    )
    assert served(html, keep_scripts=True) == html.replace("<head>", f"<head>{TOP}")


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("a<script>if (x < 1) { '<!--' }</script>b", "ab"),
        ("a<script><!-- <script> </script> --></script>b", "ab"),
        ("a<script><!-- <script> </script> </script>b", "ab"),
        ("a<script><!-- x </script>b", "ab"),
        ("a<script>never ends", "a"),
        ("a</script>b", "a</script>b"),
        ("a<scripted>b</scripted>", "a<scripted>b</scripted>"),
        ("a<SCRIPT\nSRC='x'\n>1</SCRIPT\n>b", "ab"),
        ("<svg><script>1</script><script href='x'/><style><script>2</script></style></svg>b", "<svg><style></style></svg>b"),  # noqa: E501
        ("<svg><foreignObject><style><script></style></foreignObject></svg>", "<svg><foreignObject><style><script></style></foreignObject></svg>"),  # noqa: E501
        ("<svg><p><style><script></style>b", "<svg><p><style><script></style>b"),
        ("<<script></script>script>alert(1)", "&lt;script>alert(1)"),
        ("<plaintext><script>text</script>", "<plaintext><script>text</script>"),
        ("<p a=\"><script>a value</script>", "<p a=\"><script>a value</script>"),
    ],
)  # fmt: skip
def test_what_a_tokenizer_takes_for_a_script(html: str, left: str) -> None:
    assert served(html) == TOP + left


@pytest.mark.parametrize(
    ("link", "kept"),
    [
        ('<link rel="modulepreload" href="/a.js">', False),
        ('<link rel="preload" as="script" href="/a.js">', False),
        ('<link rel="prefetch" href="/chunk.mjs?v=1">', False),
        ('<link rel="preload" as="worker" href="/w">', False),
        ('<link rel="preload" as="style" href="/a.css">', True),
        ('<link rel="prefetch" href="/next-page">', True),
        ('<link rel="stylesheet" href="/a.js">', True),
        ('<link rel="canonical" href="/a">', True),
    ],
)
def test_what_only_fetches_scripts_goes_too(link: str, kept: bool) -> None:
    assert served(f"<head>{link}</head>") == f"<head>{TOP}{link if kept else ''}</head>"
    assert link in served(link, keep_scripts=True)


@pytest.mark.parametrize(
    ("base", "right"),
    [
        ('<base href="https://cdn.example/x/">', '<base href="https://cdn.example/x/">'),
        ('<base target="_top" href="/root/?a&amp;b">', '<base target="_top" href="https://shop.example/root/?a&amp;b">'),
        ("<base href='../up'>", '<base href="https://shop.example/up">'),
        ("<base href=''>", '<base href="https://shop.example/a/b?c=1">'),
        ('<base href="javascript:alert(1)">', '<base href="https://shop.example/a/b?c=1">'),
    ],
)  # fmt: skip
def test_links_stay_right(base: str, right: str) -> None:
    assert served(f"<head>{base}<title>x</title></head>") == f"<head>{CHARSET}{right}<title>x</title></head>"


def test_a_base_without_an_address_is_not_one() -> None:
    assert served("<head><base target=_top></head>") == f"<head>{TOP}<base target=_top></head>"
    second = '<base href="/b/">'
    assert served(f'<head><base href="/a/">{second}').endswith(
        f'<base href="https://shop.example/a/">{second}'
    )


@pytest.mark.parametrize(
    ("html", "right"),
    [
        ('<head><meta charset="shift_jis"></head>', f"<head>{TOP}</head>"),
        ('<head><meta http-equiv="Content-Type" content="charset=x"></head>', f"<head>{TOP}</head>"),
        ("<head><meta http-equiv=refresh content=1>", f"<head>{TOP}<meta http-equiv=refresh content=1>"),
        ("<!doctype html><html><p>no head", f"<!doctype html><html>{TOP}<p>no head"),
        ("<!doctype html><p>none", f"<!doctype html>{TOP}<p>none"),
        ("none", f"{TOP}none"),
        ("", TOP),
    ],
)  # fmt: skip
def test_it_says_that_it_is_utf_8(html: str, right: str) -> None:
    assert served(html) == right


def test_the_page_says_its_status_and_headers() -> None:
    made = prerender(
        '<head><meta name="prerender-status-code" content=" 301 ">'
        "<meta name=prerender-status-code content=404>"
        '<meta name="Prerender-Header" content="Location: https://shop.example/new?a=1&amp;b=2">'
        '<meta name="prerender-header" content="X-Robots-Tag: noindex">',
        URL,
    )
    assert made.status == 301
    assert made.headers == (("location", "https://shop.example/new?a=1&b=2"), ("x-robots-tag", "noindex"))


@pytest.mark.parametrize("said", ["", "abc", "42", "100", "600", "2000", "-200", "20x", "²⁰⁰"])
def test_a_status_that_is_none(said: str) -> None:
    assert prerender(f'<meta name="prerender-status-code" content="{said}">', URL).status is None


@pytest.mark.parametrize(
    "said",
    [
        "Set-Cookie: a=b", "Transfer-Encoding: chunked", "Connection: close", "Content-Length: 1",
        "Content-Encoding: br", "Content-Security-Policy: x", "Strict-Transport-Security: max-age=0",
        "Access-Control-Allow-Origin: *", "X-Cache: HIT", "Location", ": x", "Location:",
        "Location: a&#13;&#10;Set-Cookie: b", "Location: ü", "Link: a&#0;b",
    ],
)  # fmt: skip
def test_headers_that_are_not_a_pages_to_set(said: str) -> None:
    assert prerender(f'<meta name="prerender-header" content="{said}">', URL).headers == ()


def test_headers_are_few_and_short() -> None:
    many = '<meta name="prerender-header" content="Link: <a>">' * 100
    assert len(prerender(many, URL).headers) == MAX_HEADERS
    long = f'<meta name="prerender-header" content="Link: {"a" * 10_000}">'
    assert all(len(value) < 2_001 for _, value in prerender(long, URL).headers)
    assert "set-cookie" not in HEADERS


PIECES = st.sampled_from(
    [
        "<html>", "<head>", "</head>", "<body>", "<p>", "</p>", "<div a='", "'>", '"', "'", "<", ">", "</",
        "<!--", "-->", "<script>", "<script ", "</script>", "</script", "script>", "<style>", "</style>",
        "<script type=application/ld+json>", "<title>", "</title>", "<svg>", "</svg>", "<foreignObject>",
        "</foreignObject>", "<desc>", "<math>", "<mi>", "</math>", "<![CDATA[", "]]>", "<template>", "=",
        "</template>", "<noscript>", "</noscript>", "<base href=/x>", "<base ", "<meta charset=x>", "<meta ",
        "<link rel=modulepreload>", "href=", "&lt;", "&amp", "\n", " ", "/", "x", "<!doctype html>", "ü",
        "<textarea>", "</textarea>", "<plaintext>", "<meta name=prerender-status-code content=404>", "\0",
        "<iframe>", "</iframe>", "<pre>",
    ]
)  # fmt: skip


@example("<svg><meta charset=x><html>")
@example("<math><!doctype html>")
@example("<!DOCTYPE")
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
def test_what_is_served_is_served_again_as_it_is(html: str) -> None:
    once = prerender(html, URL)
    again = prerender(once.html, URL)
    assert again.html == once.html
    assert (again.status, again.headers) == (once.status, once.headers)


WHOLE = st.sampled_from(
    [
        "<p>text</p>", "<script>a < b</script>", "<script src=x></script>", "<!-- c <script> -->",
        "plain &amp; ", "<style>a{}</style>", "<iframe><script></iframe>", "<a title='<script>'>l</a>",
        "<svg><path d=''></path><script>1</script><title>t</title></svg>", "<textarea><script></textarea>",
        "<svg><foreignObject><div><script>1</script></div></foreignObject></svg>",
        "<script><!-- <script></script> --></script>", "<noscript><img src=x></noscript>",
        "<ul><li>1<script>2</script></li></ul>", "<table><tr><td><script>1</script>c</td></tr></table>",
        "<script type='application/ld+json'>{\"a\":1}</script>",
    ]
)  # fmt: skip


@given(st.lists(WHOLE, max_size=20).map("".join))
def test_a_parser_finds_no_script_and_all_the_text(body: str) -> None:
    html = f"<!DOCTYPE html><html><head></head><body>{body}</body></html>"
    before, after = LexborHTMLParser(html), LexborHTMLParser(served(html))
    kinds = [node.attributes.get("type") for node in after.css("script")]
    assert kinds == ["application/ld+json"] * body.count("ld+json")
    for parser in (before, after):
        for node in parser.css("script, base, meta"):
            node.decompose()
    assert after.html == before.html


BOMBS = {
    "scripts": "<script>1</script>" * 100_000,
    "scripts that do not end": "<script>" * 200_000,
    "comments in a script": "<script>" + "<!--" * 300_000,
    "nested": "<div>" * 300_000,
    "nested foreign things": "<svg>" * 200_000 + "</desc>" * 200_000,
    "quotes that do not end": "<a b='" * 100_001,
    "angles": "<" * 1_000_000,
    "attributes": f"<meta {' '.join(f'a{n}' for n in range(200_000))}>",
    "equals": f"<meta {'=' * 1_000_000}>",
    "spaces": f"<meta {' ' * 2_000_000}",
    "comments": "<!--" * 300_000,
    "raw text": "<style>" * 200_000,
    "ends": "</" * 500_000,
    "bases": "<base href=x>" * 50_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_soon(name: str) -> None:
    began = process_time()
    prerender(BOMBS[name], URL)
    assert process_time() - began < 5


def test_a_large_page_keeps_every_word() -> None:
    body = "".join(f"<p class='c{n}'>word{n} <b>x</b><script>{n}</script></p>" for n in range(20_000))
    assert re.findall(r"word\d+", served(body)) == re.findall(r"word\d+", body)
