"""Checks of how a page is served, and what agents make of it: speed, security, agent readiness."""

from typing import Final

import pytest
from tests.web.audit.audit_subjects import (
    ADDRESSES,
    GOOD,
    Spoil,
    added,
    answer,
    header,
    instead,
    known,
    read_as,
    robots,
    subject,
)

from gossamer.web.audit.page.subject import File
from gossamer.web.content.content_warning import ContentWarning
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.robots.bots import BOTS, Purpose

HEAD: Final = "</head>"
PLAIN_URL: Final = "http://notes.example/spiders/mending"


def closed_to(*agents: str) -> Spoil:
    return known(robots=robots("".join(f"User-agent: {agent}\n" for agent in agents) + "Disallow: /\n"))


def llms(text: str, status: int = 200, media_type: str = "text/plain") -> Spoil:
    return known(llms=File(ADDRESSES["llms"], status, text, media_type))


FAULTS: Final[list[tuple[str, Spoil]]] = [
    ("first-byte", lambda: subject(first_byte_ms=1_200)),
    ("first-byte-very-slow", lambda: subject(first_byte_ms=3_000)),
    ("html-weight", lambda: subject(GOOD + "<p>more text</p>" * 40_000)),
    ("compression-missing", header(content_encoding=None)),
    ("compression-missing", header(content_encoding="identity")),
    ("cache-unsaid", header(cache_control=None)),
    ("cache-no-validator", header(etag=None)),
    ("cache-forbidden", header(cache_control="private, no-store")),
    ("blocking-scripts", added("<script src='/a.js'></script>" * 3, HEAD)),
    ("many-files", added("<script src='/a.js'></script>" * 61)),
    ("inline-weight", added(f"<style>{'p { color: red }' * 10_000}</style>", HEAD)),
    ("https-missing", lambda: subject(final_url=PLAIN_URL)),
    ("https-not-enforced", known(http_redirects_to_https=False)),
    ("mixed-active", added("<script src='http://notes.example/a.js'></script>")),
    ("mixed-active", added("<iframe src='http://maps.example/'></iframe>")),
    ("mixed-passive", added("<img src='http://notes.example/a.webp' alt=''>")),
    ("form-insecure", instead('action="/search"', 'action="http://notes.example/search"')),
    ("hsts-missing", header(strict_transport_security=None)),
    ("hsts-short", header(strict_transport_security="max-age=3600")),
    ("hsts-short", header(strict_transport_security="includeSubDomains")),
    ("csp-missing", header(content_security_policy=None)),
    ("csp-unsafe", header(content_security_policy="default-src 'self'; script-src 'self' 'unsafe-inline'")),
    ("nosniff-missing", header(x_content_type_options=None)),
    ("referrer-policy-missing", header(referrer_policy=None)),
    ("referrer-policy-missing", header(referrer_policy="unsafe-url")),
    ("frames-unprotected", header(content_security_policy="default-src 'self'")),
    ("cookie-flags", header(set_cookie="session=s3cret; HttpOnly")),
    ("server-version", header(server="nginx/1.24.0 (Ubuntu)")),
    ("server-version", header(x_powered_by="PHP/8.1.2")),
    ("agents-search-blocked", closed_to("OAI-SearchBot")),
    ("agents-user-blocked", closed_to("Claude-User", "ChatGPT-User")),
    ("agents-training-stance", closed_to("GPTBot")),
    ("agents-training-mixed", closed_to("GPTBot", "CCBot")),
    ("agents-opt-out", added('<meta name="robots" content="noai, noimageai">', HEAD)),
    ("agents-script-needed", read_as(judgement=Judgement(Outcome.EMPTY, "script_needed"))),
    ("agents-script-needed", lambda: subject("<p>A shop for silk</p><div id=root></div><script></script>")),
    ("agents-no-main", lambda: subject(GOOD.replace("main>", "div>").replace("article>", "div>"))),
    ("agents-main-unclear", read_as(warning=ContentWarning.WHOLE_PAGE)),
    ("agents-headings-lost", read_as(markdown="Only text.")),
    ("agents-structure-lost", read_as(markdown="Only text.")),
    ("agents-tokens", read_as(markdown="words " * 35_000)),
    ("agents-date-missing", lambda: subject(
        GOOD.replace('"datePublished": "2026-03-01",', "").replace('"dateModified": "2026-04-02",', "")
        .replace('<time datetime="2026-03-01">1 March 2026</time>', "")
    )),
    ("agents-author-missing", lambda: subject(
        GOOD.replace(', "author": {"@type": "Person", "name": "Ada Weber"}', "").replace("By Ada Weber,", "")
    )),
    ("llms-txt-missing", llms("", 404)),
    ("llms-txt-missing", llms("<!doctype html><title>Start</title>", media_type="text/html")),
    ("llms-txt-format", llms("Field Notes\n")),
    ("agents-markdown-twin", instead('type="text/markdown"', 'type="text/plain"')),
]  # fmt: skip


@pytest.mark.parametrize(("identity", "spoil"), FAULTS)
def test_a_fault_is_found(identity: str, spoil: Spoil) -> None:
    found = answer(identity, spoil())
    assert isinstance(found, list)
    assert found


HARMLESS: Final[list[tuple[str, Spoil]]] = [
    ("first-byte", lambda: subject(first_byte_ms=3_000)),
    ("cache-unsaid", header(cache_control=None, expires="Thu, 01 Jan 2099 00:00:00 GMT")),
    ("cache-no-validator", header(etag=None, last_modified="Thu, 01 Jan 2026 00:00:00 GMT")),
    ("blocking-scripts", added("<script src='/a.js' type=module></script>" * 9, HEAD)),
    ("blocking-scripts", added("<script src='/a.js'></script>" * 9)),
    ("csp-missing", lambda: subject(
        GOOD.replace(HEAD, f'<meta http-equiv="Content-Security-Policy" content="default-src *">{HEAD}'),
        headers={"content-security-policy": None},
    )),
    ("csp-unsafe", header(content_security_policy="script-src 'nonce-abc' 'unsafe-inline'")),
    ("frames-unprotected", header(content_security_policy=None, x_frame_options="DENY")),
    ("referrer-policy-missing", header(referrer_policy="unsafe-url, no-referrer")),
    ("cookie-flags", header(set_cookie="theme=dark; Secure; SameSite=Lax")),
    ("agents-search-blocked", closed_to(*(bot.token for bot in BOTS if bot.purpose is Purpose.TRAINING))),
    ("agents-training-mixed", closed_to(*(bot.token for bot in BOTS if bot.purpose is Purpose.TRAINING))),
    ("agents-search-blocked", known(robots=robots("", 404))),
]  # fmt: skip


@pytest.mark.parametrize(("identity", "spoil"), HARMLESS)
def test_what_is_right_is_not_found(identity: str, spoil: Spoil) -> None:
    assert answer(identity, spoil()) == []


def test_a_robots_txt_that_fails_closes_the_page_to_everybody() -> None:
    found = answer("agents-search-blocked", subject(of={"robots": robots("", 500)}))
    assert found == [f"{bot.token} ({bot.operator})" for bot in BOTS if bot.purpose is Purpose.SEARCH]


def test_the_value_of_a_cookie_is_never_told() -> None:
    found = answer("cookie-flags", subject(headers={"set-cookie": "session=s3cret"}))
    assert found == ["session: no Secure, HttpOnly, SameSite"]
