"""The generated web of the crawl bench is as large and as varied as its results say."""

import hashlib
import random
import re
from collections import Counter

import pytest
from bench.crawl_sites import SIZES
from bench.crawl_web import VariedWeb
from bench.crawl_words import LANGUAGES, OF_HOSTS, VOCABULARY, words_of

HREF = re.compile(r'<a href="([^"]+)"')


def _web(size: str = "33kB") -> VariedWeb:
    return VariedWeb(10, 40, 8080, SIZES[size].bytes, SIZES[size].links)


@pytest.mark.parametrize("code", LANGUAGES)
def test_words_follow_zipf(code: str) -> None:
    words = words_of(code)
    assert len(set(words.all)) == VOCABULARY
    drawn = Counter(words.draw(random.Random(1), 100_000))
    first, tenth = (sum(drawn[word] for word in words.all[at : at + 10]) for at in (0, 90))
    assert 20 < first / tenth < 40  # 1/1 + … + 1/10 beside 1/91 + … + 1/100: 28


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("host", range(len(OF_HOSTS)))
def test_articles_have_their_size(size: str, host: int) -> None:
    body = _web(size).host(host).page(1)
    assert abs(len(body) - SIZES[size].bytes) < 0.1 * SIZES[size].bytes


def test_a_large_page_has_many_different_words() -> None:
    text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", _web().host(0).page(1).decode(), flags=re.DOTALL)
    words = text.lower().split()
    assert 2_600 < len(words) < 3_300
    assert 1_050 < len(set(words)) < 1_450


def test_every_page_is_reached_from_the_home_page_by_untracked_links() -> None:
    host = _web().host(3)
    bodies = {host.path(page): host.page(page).decode() for page in range(host.web.pages)}
    seen, left = {"/"}, ["/"]
    while left:
        new = set(HREF.findall(bodies[left.pop()])) & bodies.keys() - seen
        seen |= new
        left += new
    assert seen == bodies.keys()


def test_pages_have_tracked_links_mail_addresses_and_copies() -> None:
    host = _web().host(0)
    links = HREF.findall(host.page(1).decode())
    assert any("?ref=" in link and "utm_source=" in link for link in links)
    assert any(link.startswith("mailto:") for link in links)
    copy, original = (set(host.page(page).decode().split()) for page in (13, 12))
    assert len(copy & original) > 0.8 * len(copy)
    assert len(host.page(9)) < 0.6 * len(host.page(1))


def test_the_web_is_the_same_each_time() -> None:
    digests = {hashlib.sha256(_web().host(5).page(13)).hexdigest() for _ in range(2)}
    assert len(digests) == 1
