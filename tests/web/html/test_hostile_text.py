"""Text that leads patterns astray: wherever it stands in a page, reading takes no longer than its length.

A pattern that goes back over what it has read needs minutes for these, where it needs milliseconds.
"""

import signal
from collections.abc import Iterator
from types import FrameType
from typing import Final

import msgspec
import pytest
from tests.web.audit.audit_subjects import page, subject

from gossamer.flows.pages.capture_request import PdfRequest
from gossamer.reach.http.fetch import COOKIE_PAIR
from gossamer.web.audit.audit import audit_page
from gossamer.web.content import tokens
from gossamer.web.crawl.crawl_view import view_page
from gossamer.web.documents.feeds import from_xml
from gossamer.web.outcome.judging import judge
from gossamer.web.pages.reading import read
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.render.prerender import prerender
from gossamer.web.robots.robots import Robots

SECONDS: Final = 20.0  # of the processor, on any machine
LENGTH: Final = 20_000  # characters
UNITS: Final = (
    "a", " ", "\t ", "0", "0.", "-", "=", "|", "[", "![", "(", "\\", "`", "<!--", "<!---->", "&amp",
    "# ", "1. ", "\n", ",", "'", "世", "a@", "://", "{", "[a](", "~", " | ", "\x0b", "\u00a0 ", "<",
    "<a href=x>", "<i>", "<td>",
)  # fmt: skip
PLACES: Final = {
    "text": "<p>{}</p>",
    "code": "<pre><code>{}</code></pre>",
    "title": "<title>{}</title>",
    "heading": "<h1>{}</h1>",
    "cell": "<table><tr><th>a</th></tr><tr><td>{}</td></tr></table>",
    "style": '<p style="color: {}">x</p>',
    "font": '<p style="font-size:{}x">x</p>',
    "pictures": '<img srcset="{} b" src=a.png alt="{}">',
    "link": '<a href="{}" class="{}" id="{}">x</a>',
    "refresh": '<meta http-equiv=refresh content="{}">',
    "robots": '<meta name=robots content="{}"><meta name=viewport content="{}">',
    "header": '<meta name=prerender-header content="Location: {}">',
    "charset": '<meta http-equiv=content-type content="text/html; charset={}">',
    "author": '<meta name=author content="{}"><p class=byline>by {}</p>',
    "date": '<time datetime="{}">x</time><meta property="article:published_time" content="{}">',
    "data": '<script type="application/ld+json">{"@type": "Product", "name": "{}", "price": "{}"}</script>',
    "price": '<div itemscope itemtype="http://schema.org/Product"><b itemprop=price>{}</b></div>',
    "language": '<html lang="{}"><link rel=alternate hreflang="{}" href="{}">',
    "beginning": "{}",
}


class TooLongError(Exception):
    pass


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise TooLongError


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, _ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("place", PLACES)
def test_reading_takes_no_longer_than_the_page_is_long(place: str) -> None:
    for unit in UNITS:
        text = unit * (LENGTH // len(unit)) + "!"
        html = PLACES[place].replace("{}", text)
        asked = page(html)
        assert audit_page(subject(html)).score >= 0
        assert read(asked, ReadingOptions(max_tokens=500)).judgement.outcome
        assert view_page(asked).content_hash
        assert judge(asked).outcome
        assert prerender(html, asked.final_url).html


@pytest.mark.parametrize("unit", UNITS)
def test_other_texts_too(unit: str) -> None:
    text = unit * (LENGTH // len(unit)) + "!"
    assert tokens.count(text) > 0
    assert COOKIE_PAIR.match(f"a={text}") or COOKIE_PAIR.match(f"a {text}") is None
    rules = Robots.parse(f"User-agent: *\nDisallow: {text}*{text}$\nallow{text}")
    assert isinstance(rules.allows(f"/{'a' * 2_000}"), bool)
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\x0b", "")
    item = f"<item><description>{escaped}</description></item>"
    assert from_xml(f"<rss><channel><title>t</title>{item}</channel></rss>") is not None


@pytest.mark.parametrize("unit", ["1-  ,", "1 ,", " ", "1", "-", ", 1 - "])
def test_page_ranges(unit: str) -> None:
    asked = {"url": "https://site.example/", "pageRanges": (unit * 200)[:199] + "x"}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(asked, PdfRequest)


@pytest.mark.parametrize("ranges", ["", "1", " 1 - 3 , 5 ", "2-", "1,2,3", "1-2 ,4-"])
def test_page_ranges_that_are_some(ranges: str) -> None:
    assert (
        msgspec.convert({"url": "https://site.example/", "pageRanges": ranges}, PdfRequest).page_ranges
        == ranges
    )
