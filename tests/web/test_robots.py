"""robots.txt by the clauses of RFC 9309, and our own choices named apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.robots import LARGEST, Robots, allowed, from_answer, product_token

SITE = "https://site.example"


def may(text: str, agent: str, path: str) -> bool:
    return allowed(text, agent, SITE + path)


def test_rfc9309_2_2_1_the_group_of_the_own_token_wins_over_everyones() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: FooBot\nDisallow: /private\n"
    assert may(text, "foobot", "/open")
    assert not may(text, "FooBot", "/private/x")
    assert not may(text, "OtherBot", "/open")


def test_rfc9309_2_2_1_groups_of_one_agent_are_one_group() -> None:
    groups = (
        "User-agent: FooBot\nDisallow: /a",
        "User-agent: BarBot\nDisallow: /",
        "user-agent: foobot\nDisallow: /b",
    )
    text = "\n\n".join(groups)
    assert [may(text, "FooBot", path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_rfc9309_2_2_1_agents_that_stand_together_share_their_rules() -> None:
    text = "User-agent: FooBot\nUser-agent: BarBot\nDisallow: /x\n"
    assert not may(text, "FooBot", "/x")
    assert not may(text, "BarBot", "/x")
    assert may(text, "BazBot", "/x")


def test_rfc9309_2_2_1_no_group_allows_everything() -> None:
    assert may("", "FooBot", "/")
    assert may("User-agent: Other\nDisallow: /", "FooBot", "/")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/folder/page", False), ("/folder/open/page", True), ("/folder", True), ("/folder/open", False)],
)
def test_rfc9309_2_2_2_the_longest_rule_wins(path: str, expected: bool) -> None:
    assert may("User-agent: *\nDisallow: /folder/\nAllow: /folder/open/", "a", path) is expected


def test_rfc9309_2_2_2_of_equal_rules_the_kinder_wins() -> None:
    assert may("User-agent: *\nDisallow: /page\nAllow: /page", "a", "/page")


@pytest.mark.parametrize(
    ("rule", "path", "blocked"),
    [
        ("/*.php$", "/index.php", True),
        ("/*.php$", "/index.php?x", False),
        ("/a*/b", "/aX/b", True),
        ("/caf%C3%A9", "/café", True),
        ("/%7ejoe", "/~joe", True),
        ("", "/anything", False),
    ],
)
def test_rfc9309_2_2_3_special_characters(rule: str, path: str, blocked: bool) -> None:
    assert may(f"User-agent: *\nDisallow: {rule}", "a", path) is not blocked


def test_rfc9309_2_2_4_other_records_do_not_end_a_group() -> None:
    robots = Robots.parse("User-agent: *\nSitemap: https://site.example/s.xml\nDisallow: /x\n")
    assert not robots.allowed("a", f"{SITE}/x")
    assert robots.sitemaps == ("https://site.example/s.xml",)


def test_rfc9309_2_3_1_3_what_is_not_there_allows_everything() -> None:
    for status in (301, 401, 403, 404, 429):
        assert from_answer(status, "User-agent: *\nDisallow: /").allowed("a", f"{SITE}/x")


def test_rfc9309_2_3_1_4_what_fails_forbids_everything() -> None:
    for status in (500, 503, None):
        assert not from_answer(status, "").allowed("a", f"{SITE}/x")


def test_rfc9309_2_2_2_the_file_itself_is_always_allowed() -> None:
    assert may("User-agent: *\nDisallow: /", "a", "/robots.txt")


def test_ours_a_token_is_compared_whole() -> None:
    text = "User-agent: Applebot\nDisallow: /\n"
    assert not may(text, "Applebot", "/x")
    assert may(text, "Applebot-Extended", "/x")
    assert may("User-agent: bot\nDisallow: /", "GPTBot", "/x")


def test_ours_a_version_behind_the_token_is_ignored_on_both_sides() -> None:
    assert not may("User-agent: FooBot/2.1\nDisallow: /", "FooBot/1.0 (+https://foo.example)", "/x")
    assert product_token("Mozilla/5.0 (compatible)") == "mozilla"
    assert product_token("* ") == "*"
    assert product_token("360Spider") == "360spider"


def test_ours_the_first_500_kib_are_read() -> None:
    robots = Robots.parse("User-agent: *\nDisallow: /early\n" + "#" * LARGEST + "\nDisallow: /late\n")
    assert robots.cut
    assert not robots.allowed("a", f"{SITE}/early")
    assert robots.allowed("a", f"{SITE}/late")


def test_ours_crawl_delay_is_told_by_group() -> None:
    robots = Robots.parse("User-agent: *\nCrawl-delay: 2\n\nUser-agent: Foo\nCrawl-delay: 0.5\nDisallow:\n")
    assert robots.crawl_delay("Foo") == 0.5
    assert robots.crawl_delay("Bar") == 2
    assert Robots.parse("User-agent: Foo\nCrawl-delay: soon").crawl_delay("Foo") is None
    assert Robots.parse("").crawl_delay("Foo") is None


def test_ours_lines_that_say_nothing_are_named() -> None:
    robots = Robots.parse("\ufeffUser-agent: *\nDisallow /x\n# fine\n\nFoo: bar\n")
    assert robots.unknown == ("Disallow /x", "Foo: bar")
    assert robots.groups == {"*"}


@given(st.text(), st.text(), st.text())
def test_any_text_is_a_robots_txt(text: str, agent: str, path: str) -> None:
    robots = Robots.parse(text)
    assert robots.allowed(agent, f"{SITE}/{path}") in (True, False)
    robots.allowed(agent, path)
    robots.crawl_delay(agent)


@given(st.lists(st.sampled_from(["User-agent: *", "User-agent: a", "Disallow: /", "Allow: /x", "x", ""])))
def test_a_group_of_its_own_frees_an_agent(lines: list[str]) -> None:
    assert may("\n".join([*lines, "", "User-agent: a", "Allow: /x"]), "a", "/x")
