"""Checks of what lets a page be found: status, titles, headings, canonical, robots, languages, address."""

from typing import Final

import pytest
from msgspec.structs import replace
from tests.web.audit.audit_subjects import (
    GOOD,
    ROBOTS,
    URL,
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

from gossamer.web.audit.page.language import detect_languages
from gossamer.web.audit.page.subject import LinkCheck, Sitemap
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.pages.page import Hop

TITLE: Final = "<title>How orb weavers mend their webs | Field Notes</title>"
DESCRIPTION: Final = next(line for line in GOOD.splitlines() if 'name="description"' in line)
CANONICAL: Final = '<link rel="canonical" href="https://notes.example/spiders/mending">'
ENGLISH: Final = '<html lang="en">'
HEAD: Final = "</head>"
BLOCKED: Final = robots("User-agent: *\nDisallow: /spiders/\nSitemap: https://notes.example/s.xml")


def canonical(href: str) -> Spoil:
    return instead(CANONICAL, f'<link rel="canonical" href="{href}">')


def titled(text: str) -> Spoil:
    return instead(TITLE, f"<title>{text}</title>")


def described(text: str) -> Spoil:
    return instead(DESCRIPTION, f'<meta name="description" content="{text}">')


def meta(name: str, content: str) -> Spoil:
    return added(f'<meta name="{name}" content="{content}">', HEAD)


def at(url: str) -> Spoil:
    return lambda: subject(final_url=url)


FAULTS: Final[list[tuple[str, Spoil]]] = [
    ("status-ok", lambda: subject(status=404)),
    ("status-ok", lambda: subject(status=301)),
    ("page-is-itself", read_as(judgement=Judgement(Outcome.SOFT_404, "not_found", "page not found"))),
    ("page-is-itself", read_as(judgement=Judgement(Outcome.BLOCKED, "captcha"))),
    ("redirect-chain", lambda: subject(redirects=(Hop("https://a.example/", 301), Hop(URL + "/", 301)))),
    ("redirect-temporary", lambda: subject(redirects=(Hop("https://notes.example/", 302),))),
    ("redirect-insecure", lambda: subject(redirects=(Hop(URL, 301),), final_url="http://notes.example/x")),
    ("meta-refresh", added('<meta http-equiv="refresh" content="3; url=/elsewhere">', HEAD)),
    ("title-missing", instead(TITLE)),
    ("title-missing", titled("  ")),
    ("title-several", added("<title>Another one</title>", HEAD)),
    ("title-length", titled("Webs")),
    ("title-length", titled("web " * 30)),
    ("title-placeholder", titled("Untitled Document")),
    ("title-placeholder", titled("Home")),
    ("title-is-heading", titled("How orb weavers mend their webs")),
    ("description-missing", instead(DESCRIPTION)),
    ("description-several", added(DESCRIPTION.replace("torn", "broken"), HEAD)),
    ("description-length", described("About webs.")),
    ("description-length", described("web " * 60)),
    ("description-repeats-title", described("How orb weavers mend their webs | Field Notes")),
    ("h1-missing", instead("<h1>How orb weavers mend their webs</h1>")),
    ("h1-missing", instead("<h1>How orb weavers mend their webs</h1>", "<h1> </h1>")),
    ("h1-several", added("<h1>And another</h1>")),
    ("heading-empty", added("<h2></h2>")),
    ("heading-skipped", added("<h4>Deep down</h4>")),
    ("heading-sparse", lambda: subject(f"<h1>Long</h1><main><p>{'A long text. ' * 400}</p></main>")),
    ("heading-long", added(f"<h2>{'very long ' * 20}</h2>")),
    ("canonical-missing", instead(CANONICAL)),
    ("canonical-several", added('<link rel="canonical" href="https://notes.example/other">', HEAD)),
    ("canonical-several", header(link='<https://notes.example/other>; rel="canonical"')),
    ("canonical-in-body", added(CANONICAL)),
    ("canonical-relative", canonical("/spiders/mending")),
    ("canonical-invalid", canonical("")),
    ("canonical-invalid", canonical("ftp://notes.example/mending")),
    ("canonical-invalid", canonical(f"{URL}#part")),
    ("canonical-elsewhere", canonical("https://notes.example/spiders")),
    ("canonical-insecure", canonical("http://notes.example/spiders/mending")),
    ("canonical-unreachable", lambda: replace(canonical("https://notes.example/gone")(), links=(
        LinkCheck("https://notes.example/gone", 404, internal=True),
    ))),
    ("canonical-og-url", instead(f'og:url" content="{URL}', 'og:url" content="https://notes.example/x')),
    ("canonical-noindex", lambda: replace(
        canonical("https://notes.example/other")(), page=subject(
            GOOD.replace(CANONICAL, '<link rel="canonical" href="https://notes.example/other">'),
            headers={"x-robots-tag": "noindex"},
        ).page,
    )),
    ("noindex", meta("robots", "NoIndex, follow")),
    ("noindex", meta("robots", "none")),
    ("noindex", header(x_robots_tag="googlebot: noindex")),
    ("nofollow-page", meta("robots", "nofollow")),
    ("snippet-forbidden", meta("robots", "max-snippet: 0")),
    ("snippet-forbidden", header(x_robots_tag="max-image-preview:large, nosnippet")),
    ("robots-disagree", lambda: subject(
        GOOD.replace(HEAD, f'<meta name="robots" content="index">{HEAD}'), headers={"x-robots-tag": "noindex"}
    )),
    ("robots-blocked", known(robots=BLOCKED)),
    ("robots-hides-noindex", lambda: subject(headers={"x-robots-tag": "noindex"}, of={"robots": BLOCKED})),
    ("robots-missing", known(robots=robots("", 404))),
    ("robots-failing", known(robots=robots("", 503))),
    ("robots-failing", known(robots=robots("", None))),
    ("robots-syntax", known(robots=robots(ROBOTS + "Dissalow /x\n"))),
    ("robots-syntax", known(robots=robots("<html>Not found</html>", media_type="text/html"))),
    ("robots-syntax", known(robots=robots("#" * 600_000))),
    ("sitemap-missing", known(sitemap=Sitemap(False))),
    ("sitemap-invalid", known(sitemap=Sitemap(True, "https://notes.example/s.xml", 0, "not well-formed"))),
    ("sitemap-invalid", known(sitemap=Sitemap(True, "https://notes.example/s.xml", 0))),
    ("sitemap-unnamed", known(robots=robots("User-agent: *\nAllow: /"))),
    ("sitemap-omits-page", known(sitemap=Sitemap(True, "https://notes.example/s.xml", 9, lists_page=False))),
    ("lang-missing", instead(ENGLISH, "<html>")),
    ("lang-invalid", instead(ENGLISH, '<html lang="english">')),
    ("lang-invalid", instead(ENGLISH, '<html lang="en_US">')),
    ("lang-mismatch", instead(ENGLISH, '<html lang="de">')),
    ("hreflang-syntax", instead('hreflang="de-AT"', 'hreflang="de_AT"')),
    ("hreflang-syntax", instead('hreflang="de-AT"', 'hreflang="en-UK"')),
    ("hreflang-relative", instead('href="https://notes.example/de/spinnen/flicken"', 'href="/de/spinnen"')),
    ("hreflang-self", lambda: subject(
        GOOD.replace(f'hreflang="en" href="{URL}"', 'hreflang="fr" href="/fr"')
        .replace(f'hreflang="x-default" href="{URL}"', 'hreflang="x-default" href="/"')
    )),
    ("hreflang-default", instead('hreflang="x-default"', 'hreflang="fr"')),
    ("hreflang-twice", instead('hreflang="de-AT"', 'hreflang="en"')),
    ("url-length", at(f"https://notes.example/{'long-' * 30}")),
    ("url-case", at("https://notes.example/Spiders/Mending")),
    ("url-underscores", at("https://notes.example/mending_webs")),
    ("url-parameters", at("https://notes.example/?a=1&b=2&c=3&d=4")),
    ("url-parameters", at("https://notes.example/?" + "a=1&" * 300)),
    ("url-session", at("https://notes.example/?PHPSESSID=abc")),
    ("url-session", at("https://notes.example/mending;jsessionid=1234")),
    ("url-tracking", at("https://notes.example/?utm_source=mail")),
    ("url-characters", at("https://notes.example//spiders/mending%20webs")),
]  # fmt: skip


@pytest.mark.parametrize(("identity", "spoil"), FAULTS)
def test_a_fault_is_found(identity: str, spoil: Spoil) -> None:
    found = answer(identity, spoil())
    assert isinstance(found, list)
    assert found


HARMLESS: Final[list[tuple[str, Spoil]]] = [
    ("title-several", added("<svg><title>A picture</title></svg>")),
    ("title-length", titled("蜘蛛如何修补它的网 | 野外笔记")),
    ("canonical-elsewhere", canonical(f"{URL}/")),
    ("canonical-relative", canonical("HTTPS://notes.example/spiders/mending")),
    ("noindex", header(x_robots_tag="otherbot: noindex")),
    ("noindex", meta("robots", "index, follow, max-snippet:-1")),
    ("robots-missing", known(robots=robots("", 503))),
    ("robots-failing", known(robots=robots("", 404))),
    ("robots-blocked", known(robots=robots("User-agent: *\nDisallow: /private"))),
    ("robots-syntax", known(robots=robots(ROBOTS + "# a comment\nContent-Signal: search=yes\n"))),
    ("lang-invalid", instead(ENGLISH, '<html lang="zh-Hant-TW">')),
    ("lang-mismatch", instead(ENGLISH, '<html lang="en-GB">')),
    ("meta-refresh", added('<meta http-equiv="refresh" content="300">', HEAD)),
    ("heading-skipped", added("<h2>Up again</h2><h3>Down</h3>")),
    ("url-case", at("https://notes.example/%E8%9C%98")),
    ("url-underscores", at("https://notes.example/_next/page")),
]


@pytest.mark.parametrize(("identity", "spoil"), HARMLESS)
def test_what_is_right_is_not_found(identity: str, spoil: Spoil) -> None:
    assert answer(identity, spoil()) == []


@pytest.mark.parametrize(
    ("text", "languages"),
    [
        ("the spider mends the frame of the web and leaves what is not worth it to be eaten " * 12, ("en",)),
        ("die Spinne flickt den Rahmen und das Netz ist nicht mit dem Rest auf einer Höhe " * 12, ("de",)),
        ("la araña repara los hilos de la red que no se han roto y en el centro por la noche " * 12, ("es",)),
        ("паук чинит свою сеть ночью и ест старые нити " * 20, ("ru", "uk", "be", "bg", "sr")),
        ("蜘蛛は夜に巣を直し、古い糸を食べてから新しい糸を出します。" * 30, ("ja",)),
        ("蜘蛛在夜里修补它的网并吃掉旧的丝线" * 30, ("zh", "ja")),
        ("the web", ()),
        ("def main(): return x + y " * 60, ()),
        ("12345 67890 " * 200, ()),
    ],
)
def test_a_language_is_named_only_where_it_is_clear(text: str, languages: tuple[str, ...]) -> None:
    assert detect_languages(text)[: len(languages)] == languages
    assert bool(detect_languages(text)) is bool(languages)
