"""robots.txt by the clauses of RFC 9309, and our own choices named apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.robots.robots import (
    MAX_ROBOTS_BYTES,
    MAX_WILDCARDS,
    Robots,
    RobotsAccess,
    access_of,
    from_answer,
    product_token,
)

SITE = "https://site.example"


def may(text: str, agent: str, path: str) -> bool:
    return Robots.parse(text).is_allowed(agent, SITE + path)


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
    assert not robots.is_allowed("a", f"{SITE}/x")
    assert robots.sitemaps == ("https://site.example/s.xml",)


def test_rfc9309_2_3_1_3_what_is_not_there_allows_everything() -> None:
    for status in (301, 401, 403, 404, 429):
        assert from_answer(status, "User-agent: *\nDisallow: /").is_allowed("a", f"{SITE}/x")


def test_rfc9309_2_3_1_4_what_fails_forbids_everything() -> None:
    for status in (500, 503, None):
        assert not from_answer(status, "").is_allowed("a", f"{SITE}/x")


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
    robots = Robots.parse(
        "User-agent: *\nDisallow: /early\n" + "#" * MAX_ROBOTS_BYTES + "\nDisallow: /late\n"
    )
    assert robots.cut
    assert not robots.is_allowed("a", f"{SITE}/early")
    assert robots.is_allowed("a", f"{SITE}/late")


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
    assert robots.is_allowed(agent, f"{SITE}/{path}") in (True, False)
    robots.is_allowed(agent, path)
    robots.crawl_delay(agent)


@given(st.lists(st.sampled_from(["User-agent: *", "User-agent: a", "Disallow: /", "Allow: /x", "x", ""])))
def test_a_group_of_its_own_frees_an_agent(lines: list[str]) -> None:
    assert may("\n".join([*lines, "", "User-agent: a", "Allow: /x"]), "a", "/x")


# The matching table of the standard and its neighbours: which of two rules speaks, and to what.


@pytest.mark.parametrize(
    ("rules", "target", "expected"),
    [
        # A value is a prefix, from the first character of the path on, and case counts.
        ("Disallow: /fish", "/fish", False),
        ("Disallow: /fish", "/fish.html", False),
        ("Disallow: /fish", "/fish/salmon.html", False),
        ("Disallow: /fish", "/fishheads?id=1", False),
        ("Disallow: /fish", "/Fish.asp", True),
        ("Disallow: /fish", "/catfish", True),
        ("Disallow: /fish", "/?id=fish", True),
        ("Disallow: /fish/", "/fish", True),
        ("Disallow: /fish/", "/fish/?id=1", False),
        ("Disallow: /fish*", "/fishheads/x", False),
        ("Disallow: /fish*", "/catfish", True),
        # An asterisk stands for any run, an empty one too; a dollar at the end for the end.
        ("Disallow: /*.php", "/x.php", False),
        ("Disallow: /*.php", "/folder/any.php.file", False),
        ("Disallow: /*.php", "/windows.PHP", True),
        ("Disallow: /*.php", "/", True),
        ("Disallow: /*.php$", "/folder/x.php", False),
        ("Disallow: /*.php$", "/x.php?p=1", True),
        ("Disallow: /*.php$", "/x.php/", True),
        ("Disallow: /*.php$", "/x.php5", True),
        ("Disallow: /fish*.php", "/fishheads/cat.php?p", False),
        ("Disallow: /fish*.php", "/Fish.php", True),
        ("Disallow: *", "/x", False),
        ("Disallow: /$", "/", False),
        ("Disallow: /$", "/x", True),
        ("Disallow: /a$b", "/a$bc", False),
        ("Disallow: /a**b", "/axyb", False),
        # The longest rule wins, and of two as long the kinder.
        ("Allow: /p\nDisallow: /", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /page\nDisallow: /*.ph", "/page.php5", True),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        ("Disallow: /x/page.html\nAllow: /x/", "/x/page.html", False),
        ("Allow: /x/page.html\nDisallow: /x/", "/x/page.html", True),
        ("Disallow: /\nAllow: /\n", "/x", True),
        # Escapes are compared as what they stand for, a slash excepted; queries count.
        ("Disallow: /foo/bar?baz=quz", "/foo/bar?baz=quz", False),
        ("Disallow: /foo/bar?baz=quz", "/foo/bar", True),
        ("Disallow: /foo/bar/\u30c4", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", False),
        ("Disallow: /foo/bar/baz", "/foo/bar/%62%61%7A", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /a%2Fb", "/a%2fb", False),
        ("Disallow: /a%3Cd.html", "/a%3cd.html", False),
        ("Disallow: /q?a=1&b", "/q?a=1&b=2", False),
        ("Disallow: //x", "//x/y", False),
        ("Disallow: //x", "/x/y", True),
        # A rule without a value says nothing.
        ("Disallow:", "/x", True),
        ("Allow:\nDisallow: /", "/x", False),
        # The file itself may always be read.
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /", "/robots.txt/x", False),
    ],
)
def test_rfc9309_2_2_2_and_2_2_3_matching(rules: str, target: str, expected: bool) -> None:
    robots = Robots.parse(f"User-agent: FooBot\n{rules}\n", "FooBot/1.0")
    assert robots.allows(target) is expected
    assert robots.is_allowed("FooBot", SITE + target) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user-agent:FooBot\ndisallow:/x", False),
        ("USER-AGENT : foobot\nDISALLOW :\t/x", False),
        ("  User-agent: FooBot # ours\n  Disallow: /x # theirs", False),
        ("User-agent: FooBot\rDisallow: /x\r", False),
        ("User-agent: FooBot\r\n\r\n\r\nDisallow: /x", False),
        ("\ufeffUser-agent: FooBot\nDisallow: /x", False),
        ("User-agent: Foo\nDisallow: /x", True),
        ("User-agent: FooBotany\nDisallow: /x", True),
        ("User-agent: FooBot Bar\nDisallow: /x", False),
        ("Disallow: /x\nUser-agent: FooBot\nAllow: /y", True),
        ("User-agent: *\nDisallow: /x\nUser-agent: FooBot", True),
        ("User-agent: FooBot\nUser-agent: Bar\nDisallow: /x", False),
        ("User-agent: FooBot\n\nUser-agent: Bar\nDisallow: /x", False),
        ("User-agent: FooBot\nDisallow: /y\nUser-agent: Bar\nDisallow: /x", True),
        ("User-agent: FooBot\nDisallow: /y\n\nUser-agent: FooBot\nDisallow: /x", False),
        ("User-agent: *\nDisallow: /x\n\nUser-agent: *\nDisallow: /y", False),
    ],
)
def test_rfc9309_2_2_1_lines_and_groups(text: str, expected: bool) -> None:
    assert Robots.parse(text, "FooBot").allows("/x") is expected


@pytest.mark.parametrize(
    "record",
    [
        "Sitemap: https://site.example/s.xml",
        "Host: site.example",
        "Clean-param: a /x",
        "Content-Signal: ai-train=no",
        "Whatever: x",
        "no record at all",
        "<html>",
    ],
)
def test_rfc9309_2_2_4_no_other_record_parts_a_group(record: str) -> None:
    between_agents = f"User-agent: FooBot\n{record}\nUser-agent: Bar\nDisallow: /x"
    between_rules = f"User-agent: FooBot\nDisallow: /y\n{record}\nDisallow: /x"
    for text in (between_agents, between_rules):
        assert not Robots.parse(text, "FooBot").allows("/x")


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((200, 204, 206, 299), RobotsAccess.PARSE),
        ((301, 302, 307, 308, 304), RobotsAccess.ALLOW_ALL),
        ((400, 401, 403, 404, 410, 418, 429, 451, 499), RobotsAccess.ALLOW_ALL),
        ((500, 502, 503, 504, 599, None), RobotsAccess.DISALLOW_ALL),
    ],
)
def test_rfc9309_2_3_1_what_a_status_means(statuses: tuple[int | None, ...], expected: RobotsAccess) -> None:
    forbidding = "User-agent: *\nDisallow: /"
    for status in statuses:
        assert access_of(status) is expected
        rules = from_answer(status, forbidding if expected is not RobotsAccess.DISALLOW_ALL else "", "FooBot")
        assert rules.allows("/x") is (expected is RobotsAccess.ALLOW_ALL)


def test_rfc9309_2_3_is_utf8_and_other_bytes_are_escapes() -> None:
    body = b"\xef\xbb\xbfUser-agent: FooBot\nDisallow: /caf\xe9\nDisallow: /na\xc3\xafve\n"
    robots = Robots.parse(body, "FooBot")
    assert [robots.allows(target) for target in ("/caf%E9", "/na%C3%AFve", "/caf%C3%A9")] == [
        False,
        False,
        True,
    ]


def test_rfc9309_2_5_at_least_500_kib_are_read_however_many_rules_that_are() -> None:
    rules = b"".join(b"Disallow: /private/%d\n" % number for number in range(20_000))
    robots = Robots.parse(b"User-agent: FooBot\n" + rules + b"Disallow: /last\n", "FooBot")
    assert not robots.cut
    assert [robots.allows(target) for target in ("/last", "/private/19999/x", "/private/x")] == [
        False,
        False,
        True,
    ]


def test_ours_more_wildcards_than_can_be_tried_forbid_what_stands_before_them() -> None:
    rules = "".join(f"Disallow: /a/*{number}*x\n" for number in range(MAX_WILDCARDS))
    robots = Robots.parse(f"User-agent: FooBot\n{rules}Allow: /b*c\nDisallow: /b/*d # e\n", "FooBot")
    assert [robots.allows(target) for target in ("/a/y", "/a/4999x", "/b/y", "/c")] == [
        True,
        False,
        False,
        True,
    ]
    assert not Robots.parse(f"User-agent: FooBot\n{rules}Disallow: *d\n", "FooBot").allows("/c")


def test_rfc9309_4_no_rule_takes_long_to_compare() -> None:
    robots = Robots.parse("User-agent: *\nDisallow: /" + "*a" * 5_000 + "*b$", "FooBot")
    assert robots.allows("/" + "a" * 2_000)


def test_ours_line_ends_are_those_of_the_standard() -> None:
    for other in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        assert Robots.parse(f"User-agent: FooBot\nAllow: /a{other}Disallow: /x", "FooBot").allows("/x")


def test_ours_delay_and_sitemaps_of_the_agent_that_it_was_parsed_for() -> None:
    text = (
        "Sitemap: https://site.example/a.xml\nUser-agent: *\nCrawl-delay: 5\n"
        "User-agent: FooBot\nCrawl-delay: 0.5\nSitemap: /b.xml\n"
    )
    assert Robots.parse(text, "FooBot/2.0").delay == 0.5
    assert Robots.parse(text, "Bar").delay == Robots.parse(text).delay == 5
    assert Robots.parse(text, "Bar").sitemaps == ("https://site.example/a.xml", "/b.xml")
    for said in ("soon", "-1", "nan", "inf"):
        assert Robots.parse(f"User-agent: *\nCrawl-delay: {said}", "FooBot").delay is None


def test_rfc9309_2_2_4_a_delay_does_not_end_a_group() -> None:
    text = "User-agent: FooBot\nCrawl-delay: 2\n\nUser-agent: Bar\nDisallow: /"
    assert not Robots.parse(text, "FooBot").allows("/x")
    assert (Robots.parse(text, "FooBot").delay, Robots.parse(text, "Bar").delay) == (2, None)


def test_rfc9309_2_2_1_a_star_within_a_name_is_not_everyone() -> None:
    robots = Robots.parse("User-agent: *WordPress*\nDisallow: /", "FooBot")
    assert robots.allows("/x")
    assert "*" not in robots.groups


def test_rfc9309_2_2_2_the_most_octets_win_also_with_a_star_at_the_end() -> None:
    assert not Robots.parse("User-agent: *\nAllow: /shop\nDisallow: /shop*").allows("/shop/x")
    assert Robots.parse("User-agent: *\nDisallow: /shop\nAllow: /shop*").allows("/shop/x")
    assert Robots.parse("User-agent: *\nAllow: /shop/a\nDisallow: /shop/*").allows("/shop/a")


def test_ours_slips_of_the_pen_are_understood() -> None:
    for slip in ("Dissallow: /x", "Disalow: /x", "Disallow /x"):
        assert not Robots.parse(f"User agent FooBot\n{slip}", "FooBot").allows("/x")
    assert Robots.parse("User-agent: FooBot\nAllowance: /x\nDisallowed: /x", "FooBot").allows("/x")


@given(st.binary(), st.text())
def test_any_bytes_are_a_robots_txt(body: bytes, path: str) -> None:
    robots = Robots.parse(b"User-agent: *\nDisallow: /" + body, "FooBot")
    assert robots.allows(f"/{path}") in (True, False)
    Robots.parse(body.decode("utf-8", "surrogateescape"))
