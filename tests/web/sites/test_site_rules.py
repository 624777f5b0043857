"""Rules: which URLs they are about, how several add up, and what is refused."""

import msgspec
import pytest

from gossamer.problems import Problem
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Page
from gossamer.web.sites.rule_set import RuleSet
from gossamer.web.sites.rule_trial import RuleWarning, try_rules
from gossamer.web.sites.site_rule import (
    SiteRule,
    check_rules,
    from_stored,
    hide_headers,
    restore_headers,
)
from gossamer.web.url.sent_headers import HIDDEN
from gossamer.web.url.url import Url

LOGIN = {"Authorization": "Bearer secret"}


def url(text: str) -> Url:
    return Url.parse(text)


@pytest.mark.parametrize(
    ("host", "address", "is_about"),
    [
        ("a.example", "https://a.example/", True),
        ("a.example", "http://a.example/x", True),
        ("a.example", "https://b.a.example/", False),
        ("a.example", "https://a.example:8443/", False),
        ("a.example:8443", "https://a.example:8443/", True),
        ("*.a.example", "https://b.a.example/", True),
        ("*.a.example", "https://a.example/", True),
        ("*.a.example", "https://nota.example/", False),
        ("https://a.example", "https://a.example/", True),
        ("https://a.example", "http://a.example/", False),
        ("", "https://home.example/", True),
        ("", "http://home.example/", False),
    ],
)
def test_a_rule_is_about_a_host_a_domain_or_an_origin(host: str, address: str, is_about: bool) -> None:
    rules = RuleSet.of([SiteRule(host=host, drop=("nav",))], ["https://home.example"])
    assert bool(rules.at(url(address)).drop) is is_about


def test_the_first_rule_decides_and_lists_add_up() -> None:
    rules = RuleSet.of(
        [
            SiteRule(host="a.example", path="/blog/*", keep=("article",), drop=("nav",), render="always"),
            SiteRule(host="a.example", keep=("main",), drop=("nav", ".ad"), render="never"),
        ]
    )
    blog, other = rules.at(url("https://a.example/blog/1?x=1")), rules.at(url("https://a.example/shop"))
    assert (blog.keep, blog.drop, blog.render) == (("article",), ("nav", ".ad"), "always")
    assert (other.keep, other.drop, other.render) == (("main",), ("nav", ".ad"), "never")
    assert rules.matching(url("https://a.example/blog/1")) == [0, 1]


def test_headers_go_to_their_origin_alone_and_hidden_ones_nowhere() -> None:
    rules = [
        SiteRule(host="https://a.example", headers=LOGIN),
        SiteRule(host="https://a.example", headers={"authorization": "later", "cookie": HIDDEN}),
    ]
    known = RuleSet.of(rules)
    assert known.at(url("https://a.example/x")).headers == {"authorization": "Bearer secret"}
    for elsewhere in (
        "http://a.example/",
        "https://a.example:444/",
        "https://b.a.example/",
        "https://a.example.evil/",
    ):
        assert not known.at(url(elsewhere)).headers


def test_the_slowest_pace_wins_and_is_that_of_a_whole_host() -> None:
    rules = RuleSet.of(
        [
            SiteRule(host="a.example", delay=1.0, concurrency=4),
            SiteRule(host="*.a.example", delay=3.0),
            SiteRule(host="https://a.example", concurrency=2),
        ]
    )
    assert rules.pace("a.example:443") == (3.0, 2)
    assert rules.pace("b.a.example:443") == (3.0, None)
    assert rules.pace("a.example:8443") == (None, None)
    assert rules.pace("else.example:80") == (None, None)


def test_ignored_parameters_are_those_of_the_rules_about_a_url() -> None:
    spec = CrawlSpec(
        seeds=("https://a.example/",),
        ignore_parameters=("sid",),
        rules=(SiteRule(path="/shop*", ignore_parameters=("sort",)),),
    )
    assert spec.ignored_at(url("https://a.example/shop?sort=1")) == ("sid", "sort")
    assert spec.ignored_at(url("https://a.example/blog?sort=1")) == ("sid",)
    assert spec.ignored_at(url("https://b.example/shop?sort=1")) == ("sid",)


@pytest.mark.parametrize(
    ("rule", "home", "field"),
    [
        (SiteRule(), None, "host"),
        (SiteRule(host="A.example"), None, "host"),
        (SiteRule(host="a.example/x"), None, "host"),
        (SiteRule(host="*"), None, "host"),
        (SiteRule(host="https://*.a.example"), None, "host"),
        (SiteRule(host="a.example", headers=LOGIN), None, "host"),
        (SiteRule(host="*.a.example", headers=LOGIN), "", "host"),
        (SiteRule(host="b.example"), "https://a.example", "host"),
        (SiteRule(path="/x*", delay=2.0), "", "path"),
        (SiteRule(path="/x*", concurrency=1), "", "path"),
        (SiteRule(keep=("div[",)), "", "keep"),
        (SiteRule(drop=("a", "::b(")), "", "drop"),
        (SiteRule(headers={"host": "evil"}), "", None),
        (SiteRule(headers={"cookie": "a\r\nb: c"}), "", None),
    ],
)
def test_a_rule_without_a_meaning_is_refused_by_its_field(
    rule: SiteRule, home: str | None, field: str | None
) -> None:
    with pytest.raises(Problem) as refused:
        check_rules([SiteRule(host="ok.example"), rule] if home is None else [rule], home)
    if field is not None:
        assert f"rules[{0 if home is not None else 1}].{field}" in refused.value.detail


def test_values_of_headers_are_hidden_and_kept_when_they_are_sent_back() -> None:
    rules = (SiteRule(path="/a*", headers=LOGIN), SiteRule(drop=("nav",)))
    shown = hide_headers(rules)
    assert b"secret" not in msgspec.json.encode(shown)
    assert "secret" not in repr(rules)
    assert restore_headers(shown, rules) == rules
    with pytest.raises(Problem):
        restore_headers((SiteRule(path="/b*", headers={"cookie": HIDDEN}),), rules)
    stored = [*msgspec.json.decode(msgspec.json.encode(rules)), {"path": "/c", "later": 1}]
    assert from_stored(stored) == (*rules, SiteRule(path="/c"))


PAGE = """<title>A page</title><body><nav>Home Shop Blog</nav><article><h1>Hello</h1>
<p>These words are the text of the page, and there are enough of them for anybody to read.</p>
<div class=share>Share this with everybody</div></article></body>"""


def saved(text: str) -> Page:
    return Page(
        url=text,
        final_url=text,
        status=200,
        headers=(),
        body=PAGE.encode(),
        media_type="text/html",
        charset="utf-8",
    )


def test_a_trial_shows_what_each_selector_matches() -> None:
    rules = [
        SiteRule(keep=("article",), drop=(".share", ".gone"), ignore_parameters=("ref",), headers=LOGIN),
        SiteRule(path="/other", drop=("h1",)),
    ]
    tried = try_rules(saved("https://a.example/x?ref=1&b=2"), rules, "https://a.example")
    assert tried.matching == [0]
    assert [(one.field, one.selector, one.matches) for one in tried.selectors] == [
        ("keep", "article", 1),
        ("drop", ".share", 1),
        ("drop", ".gone", 0),
    ]
    assert tried.selectors[1].sample == "Share this with everybody"
    assert "Share this" not in tried.after.markdown
    assert "These words" in tried.after.markdown
    assert (tried.counts_as, tried.headers) == ("https://a.example/x?b=2", ["authorization"])
    assert tried.warnings == [RuleWarning.NO_MATCH]


def test_a_page_without_what_is_kept_is_read_as_ever() -> None:
    tried = try_rules(saved("https://a.example/"), [SiteRule(keep=("main",))], "https://a.example")
    assert tried.after == tried.before
    assert tried.warnings == [RuleWarning.NO_MATCH, RuleWarning.NOTHING_KEPT]
    elsewhere = try_rules(saved("https://a.example/"), [SiteRule(path="/b")], "https://a.example")
    assert elsewhere.warnings == [RuleWarning.NO_RULE]
