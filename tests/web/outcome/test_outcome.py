import re
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.outcome.outcome_pages import Sample, page, samples

from gossamer.web.html.markup_scan import scan_markup, weight
from gossamer.web.outcome.judging import judge
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.outcome.page_view import PLENTY

SAMPLES = samples()
BY_NAME = {sample.name: sample for sample in SAMPLES}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_corpus(sample: Sample) -> None:
    judgement = judge(sample.page)
    assert judgement.outcome == sample.outcome, f"{sample.why}: {judgement}"
    assert judgement.reason == (sample.reason or judgement.reason)
    assert (judgement.reason == "") == (judgement.outcome is Outcome.OK)


def test_the_corpus_has_pages_of_every_kind() -> None:
    counts = Counter(sample.outcome for sample in SAMPLES)
    assert set(counts) == set(Outcome)
    assert all(count >= 15 for count in counts.values()), counts
    assert counts["ok"] >= 80


# Variations: what the rules rest on, whatever surrounds it.

WORDS = re.findall(
    r"\w+",
    "river stone light morning garden bridge people bread birds north water mill house wheel road field wind "
    "hill lamp table window door rain snow letter boat shore sand clay kiln bell tower market wool loom",
)
PARAGRAPHS = [f"<p>{' '.join(WORDS[at:] + WORDS[:at])} and so on.</p>" for at in range(len(WORDS))]
WALLS = [sample for sample in SAMPLES if sample.outcome == "blocked" and sample.page.status == 200]
LONG = st.lists(st.sampled_from(PARAGRAPHS), min_size=18, max_size=24)


@given(st.sampled_from(WALLS), LONG, st.integers(0, 14))
def test_a_long_article_is_never_blocked_by_words_or_markup(
    wall: Sample, paragraphs: list[str], at: int
) -> None:
    inside = re.sub(r"(?is)<!doctype[^>]*>|</?(?:html|head|body)\b[^>]*>", "", wall.page.text)
    text = "".join((*paragraphs[:at], inside, *paragraphs[at:]))
    html = f"<html><body><article>{text}</article></body></html>"
    assert judge(page(html)).outcome == "ok"


MARKUP_WALLS = [sample for sample in WALLS if judge(sample.page).reason == "challenge"]
TITLES = st.sampled_from(
    [
        "",
        "shop.example",
        "Just a moment...",
        "Access denied",
        "Un momento…",
        "Please wait",
        "404",
        "Sign in",
        "Welcome",
    ]
)


@given(st.sampled_from(MARKUP_WALLS), TITLES, st.sampled_from([200, 202, 403, 405, 429, 503, 404]))
def test_a_challenge_is_blocked_whatever_it_calls_itself(wall: Sample, title: str, status: int) -> None:
    html = re.sub(r"(?is)<title.*?</title>", "", wall.page.text)
    if "SWJIYLWA" in html and status == 404:
        return  # a sensor alone makes no wall of a missing page
    assert judge(page(f"<title>{title}</title>{html}", status=status)).outcome == "blocked"


@given(
    st.sampled_from(["ok-example-domain", "ok-status-page", "ok-russian-recipe", "ok-access-denied-tutorial"])
)
def test_a_site_around_a_page_changes_nothing(name: str) -> None:
    menu = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in WORDS)
    html = BY_NAME[name].page.text.replace("<body>", f"<body><header><nav><ul>{menu}</ul></nav></header>")
    assert judge(page(html)).outcome == "ok"


@given(st.sampled_from([sample for sample in SAMPLES if sample.name.startswith("soft404")]))
def test_a_missing_page_is_missing_also_below_a_large_menu(sample: Sample) -> None:
    menu = "".join(f'<li><a href="/{word}">All about the {word} and more</a></li>' for word in WORDS)
    html = sample.page.text.replace("<body>", f"<body><nav><ul>{menu}</ul></nav>")
    expected = "error" if sample.page.status == 404 else "soft_404"
    assert judge(page(html, url=sample.page.final_url, asked=sample.page.url)).outcome == expected


@pytest.mark.parametrize(
    ("status", "expected", "reason"),
    [
        (200, "ok", ""),
        (201, "ok", ""),
        (300, "error", "http_error"),
        (400, "error", "http_error"),
        (401, "login_wall", "authentication_required"),
        (402, "login_wall", "payment_required"),
        (403, "blocked", "access_denied"),
        (404, "error", "not_found"),
        (407, "login_wall", "authentication_required"),
        (410, "error", "gone"),
        (418, "error", "http_error"),
        (429, "blocked", "rate_limited"),
        (451, "blocked", "legal_reasons"),
        (500, "error", "server_error"),
        (503, "error", "unavailable"),
        (599, "error", "server_error"),
        (999, "blocked", "access_denied"),
    ],
)
def test_the_status_decides_where_nothing_else_is_seen(status: int, expected: str, reason: str) -> None:
    for html in ("<p>A page about stones and rivers.</p>", "<p>stones and rivers</p>" * 300):
        judgement = judge(page(html, status=status))
        assert (judgement.outcome, judgement.reason) == (expected, reason)
    data = judge(page('{"a": 1}', status=status, media_type="application/json"))
    assert (data.outcome, data.reason) == (expected, reason)


def test_what_is_not_html_is_judged_by_status_and_headers() -> None:
    words = "Just a moment... Checking your browser before accessing"
    assert judge(page(words, media_type="text/plain")).outcome == "ok"
    assert judge(page("", media_type="application/json")).reason == "no_body"
    assert (
        judge(page(words, media_type="text/plain", headers=[("cf-mitigated", "challenge")])).outcome
        == "blocked"
    )


def test_title_and_text_that_are_known_are_used() -> None:
    shell = '<html><body><div id="root"></div><script src="/a.js"></script></body></html>'
    text = "stones and rivers " * 200
    assert weight(text) >= PLENTY
    assert judge(page(shell), title="Stones", text=text).outcome == "ok"
    assert judge(page(shell), title="Stones", text="stones").outcome == "empty"
    assert judge(page(shell), title="Page not found", text=text).outcome == "soft_404"
    assert judge(page(shell, status=404), title="Stones", text=text).outcome == "error"


LONG_TRACE = "Traceback (most recent call last):\n" + '  File "/app/view.py", line 3, in view\n' * 200


def test_a_stack_trace_is_an_error_however_long_it_is() -> None:
    assert judge(page(f"<pre>{LONG_TRACE}</pre>")).reason == "script_error"
    assert judge(page("<p>shell"), text=LONG_TRACE).outcome == "ok"  # the page has something else to say
    assert judge(page(f"<h1>A question</h1><p>What is this?</p><pre>{LONG_TRACE}</pre>")).outcome == "ok"


@pytest.mark.parametrize("phrase", ["This domain is for sale.", "Please log in to view this page."])
def test_a_phrase_counts_where_a_page_speaks_of_itself(phrase: str) -> None:
    article = "<p>The owner of the mill writes about his years with the river and with other people. </p>" * 4
    said = judge(page(f"<p>{phrase}</p>"))
    inside = judge(
        page(
            f"<p>In those days a visitor of our place would have found a note that said {phrase}</p>{article}"
        )
    )
    quoted = judge(page(f'<p>The note said: "{phrase}"</p>{article}'))
    assert said.outcome in ("parked", "login_wall")
    assert (inside.outcome, quoted.outcome) == ("ok", "ok")


def test_a_bucket_that_does_not_exist_is_no_site() -> None:
    body = '<?xml version="1.0"?><Error><Code>NoSuchBucket</Code><BucketName>mill</BucketName></Error>'
    judgement = judge(page(body, status=404, media_type="application/xml"))
    assert (judgement.outcome, judgement.reason) == ("parked", "no_site")


@pytest.mark.parametrize("status", [500, 502, 504, 520, 522, 530])
def test_an_origin_that_is_down_is_not_blocked(status: int) -> None:
    ray = "<h1>Connection timed out</h1><p>Cloudflare Ray ID: 8f2a1b3c4d5e6f70</p>"
    assert judge(page(ray, status=status)).outcome == "error"
    assert judge(page("<p>Cloudflare Ray ID: 8f2a1b3c4d5e6f70</p>", status=403)).outcome == "blocked"


# Whatever is sent.


@given(st.text(), st.integers(100, 999))
def test_any_text_is_judged(text: str, status: int) -> None:
    assert judge(page(text, status=status)).outcome in set(Outcome)
    assert judge(page(f"<html><body>{text}", status=status)).outcome in set(Outcome)


@given(
    st.lists(
        st.sampled_from(["<", ">", "/", "!--", "-->", '="', "='", "script", "title", "a", " ", "svg", "h1"])
    )
)
def test_any_jumble_of_markup_is_sketched(parts: list[str]) -> None:
    scan = scan_markup("".join(parts), enough=PLENTY)
    assert 0 <= scan.prose <= scan.visible


HOSTILE = {
    "nested": "<div>" * 200_000,
    "unclosed tags": "<a " * 300_000,
    "unclosed quotes": '<a x="' * 200_000,
    "mixed quotes": "<a x=\"'" * 200_000 + ">",
    "comments": "<!--" * 250_000,
    "scripts": "<script>" * 150_000,
    "titles": "<title>" * 150_000,
    "text": "<p>" + "verify you are " * 100_000,
    "dots": "<p>" + "this domain " + "a." * 400_000 + "</p>",
    "spaces": "<title>" + " " * 900_000 + "</title><p>" + " " * 900_000,
    "headings": "<h1>error 404 " * 70_000,
    "long title": "<title>" + "sorry! " * 100_000 + "</title>",
    "entities": "<p>" + "&amp" * 200_000,
    "attributes": "<div " + "a=b " * 200_000 + ">",
    "inputs": "<input " + "=" * 900_000 + ">",
    "links": "<a href=x>not found </a>" * 60_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_take_bounded_time(name: str) -> None:
    asked = page("<html>" + HOSTILE[name])
    assert asked.text
    started = time.process_time()
    judge(asked)
    assert time.process_time() - started < 5


def test_ideographs_weigh_more_than_letters() -> None:
    assert weight("stone") == 5
    assert weight("古池や") == 9
    assert weight("") == 0
