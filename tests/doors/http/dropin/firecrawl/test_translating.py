"""What is asked for in Firecrawl's words, in ours."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.doors.http.dropin.firecrawl.crawl_wishes import crawl_wishes, to_patterns
from gossamer.doors.http.dropin.firecrawl.dialect import error_code
from gossamer.doors.http.dropin.firecrawl.documents import document
from gossamer.doors.http.dropin.firecrawl.job_id import JobId, Wish
from gossamer.doors.http.dropin.firecrawl.page_wishes import PageWishes
from gossamer.doors.http.dropin.firecrawl.requests import CrawlBody, ScrapeOptions
from gossamer.problems import Problem

OURS = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


@pytest.mark.parametrize(
    ("expression", "patterns"),
    [
        ("blog", ["/*blog*"]),
        ("/blog", ["*/blog*"]),
        ("^/blog/.*$", ["/blog/*"]),
        ("^/blog$", ["/blog"]),
        ("blog/*", ["/*blog*"]),
        (r"/posts/\d+", ["*/posts/*"]),
        (r"/a\.html$", ["*/a.html"]),
        ("^/(de|fr)/[^/]+$", ["/de/*", "/fr/*"]),
        (".*", ["/*"]),
    ],
)
def test_paths_become_patterns(expression: str, patterns: list[str]) -> None:
    assert to_patterns(expression) == patterns


def test_a_whole_address_is_compared_if_that_is_asked_for() -> None:
    assert to_patterns("blog.example.com", whole_url=True) == ["*blog.example.com*"]


@pytest.mark.parametrize(
    "expression", ["^(?!a)", "[abc]", "a{2}", "a|b", "((a|b)c)", r"\bword", "a?b", "x*y"]
)
def test_what_patterns_cannot_say_is_refused(expression: str) -> None:
    with pytest.raises(Problem, match="limited by"):
        to_patterns(expression)


@given(st.integers(0, 255))
def test_an_id_carries_the_wishes(number: int) -> None:
    job = JobId(OURS, Wish(number))
    assert JobId.parse(str(job)) == job


@pytest.mark.parametrize(
    "text", ["", "x", OURS.lower(), f"{OURS}-", f"{OURS}-123", f"{OURS}-0x", f"{OURS}?a-01"]
)
def test_other_ids_are_unknown(text: str) -> None:
    with pytest.raises(Problem, match="no job"):
        JobId.parse(text)


def test_defaults_of_the_client_for_python_are_no_wishes() -> None:
    sent: dict[str, Any] = {
        "only_main_content": True,
        "mobile": False,
        "block_ads": True,
        "store_in_cache": True,
    }
    wishes = PageWishes.of(ScrapeOptions(max_age=14_400_000, wait_for=None, **sent))
    assert (wishes.warnings, wishes.texts) == ([], ["markdown"])
    assert wishes.visit == {"render": "auto", "cache": True, "maxAge": 14_400, "block": ["ads"]}


def test_a_crawl_stays_below_its_address_and_says_what_it_cannot_do() -> None:
    body = CrawlBody(
        url="https://a.example/docs",
        limit=5,
        delay=3,
        ignore_robots_txt=True,
        scrape_options=ScrapeOptions(formats=["html", "summary"], wait_for=10),
    )
    ours, wishes, warnings = crawl_wishes(body, least_delay=1.0)
    assert (ours["scope"], ours["include"], ours["maxPages"], ours["delay"]) == ("host", ["/docs*"], 5, 3)
    assert wishes == Wish.HTML | Wish.UNMET
    told = " ".join(warnings)
    assert all(word in told for word in ("robots.txt", "summary", "waitFor"))


@pytest.mark.parametrize(
    ("asked", "events"),
    [
        ("https://b.example/", []),
        ({"url": "https://b.example/", "headers": None, "events": None}, []),
        ({"url": "https://b.example/", "events": ["page", "failed"]}, ["page", "failed", "canceled"]),
    ],
)
def test_a_webhook_is_an_address_alone_or_with_options(asked: Any, events: list[str]) -> None:
    body = CrawlBody(url="https://a.example/", webhook=asked)
    ours, _, warnings = crawl_wishes(body, least_delay=1.0)
    assert ours["webhook"] == {"url": "https://b.example/", "events": events, "shape": "firecrawl-01"}
    assert warnings == []


@pytest.mark.parametrize("asked", [5, {"address": "https://b.example/"}, ["https://b.example/"]])
def test_other_webhooks_are_refused(asked: Any) -> None:
    with pytest.raises(Problem, match="webhook"):
        crawl_wishes(CrawlBody(url="https://a.example/", webhook=asked), least_delay=1.0)


def test_metadata_of_strangers_has_the_types_that_clients_expect() -> None:
    graph = {"locale:alternate": "de_DE", "title": 5, "description": None}
    page = {
        "statusCode": None,
        "title": ["a", "b"],
        "metadata": {"openGraph": graph, "keywords": ["a", 1], "author": {"name": "x"}},
    }
    about = document(page, "https://a.example/")["metadata"]
    assert about["ogLocaleAlternate"] == ["de_DE"]
    assert (about["statusCode"], about["ogTitle"], about["keywords"]) == (0, "5", "a, 1")
    numbers = ("statusCode", "creditsUsed")
    assert all(isinstance(about[name], int) for name in numbers)
    assert all(isinstance(value, str | list) for name, value in about.items() if name not in numbers)


@pytest.mark.parametrize(
    ("code", "reason", "told"),
    [
        ("FETCH_FAILED", "dns_not_found", "SCRAPE_DNS_RESOLUTION_ERROR"),
        ("FETCH_FAILED", "tls_invalid_certificate", "SCRAPE_SSL_ERROR"),
        ("FETCH_TIMEOUT", None, "SCRAPE_TIMEOUT"),
        ("RATE_LIMITED", None, "RATE_LIMITED"),
    ],
)
def test_codes_that_clients_have_classes_for(code: str, reason: str | None, told: str) -> None:
    assert error_code(code, reason) == told
