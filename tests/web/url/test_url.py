"""URLs: what parses to what, what is refused and why, and what the canonical forms promise."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import astuple

from gossamer.problems import INVALID_URL, Problem
from gossamer.web.url.url import (
    _PLAIN,
    MAX_URL_CHARS,
    Tracking,
    Url,
    answer_key,
    audit_form,
    cache_form,
    crawl_form,
    digest,
    render_key,
    rendered_name,
    shared_url,
)

FORMS: tuple[Callable[[Url], str], ...] = (
    cache_form,
    crawl_form,
    lambda url: crawl_form(url, keep_slash=False),
    audit_form,
)


def refused(text: str, base: Url | None = None) -> dict[str, Any]:
    with pytest.raises(Problem) as caught:
        Url.parse(text, base)
    assert caught.value.kind is INVALID_URL
    details: dict[str, Any] = caught.value.members["details"]
    return details


# Parsing.


def test_the_parts_of_a_url() -> None:
    url = Url.parse("HTTPS://Example.COM:8443/a/./b/../c?x=1&y=%20#part")
    assert url.href == str(url) == "https://example.com:8443/a/c?x=1&y=%20#part"
    assert (url.scheme, url.host, url.port) == ("https", "example.com", 8443)
    assert (url.path, url.query, url.target) == ("/a/c", "x=1&y=%20", "/a/c?x=1&y=%20")
    assert (url.origin, url.site) == ("https://example.com:8443", "example.com:8443")


@pytest.mark.parametrize(
    ("text", "origin", "site", "target"),
    [
        ("http://a.com", "http://a.com", "a.com:80", "/"),
        ("http://a.com:80/", "http://a.com", "a.com:80", "/"),
        ("https://a.com:443?q", "https://a.com", "a.com:443", "/?q"),
        ("https://a.com:80/?", "https://a.com:80", "a.com:80", "/?"),
        ("http://[::1]:8080/x#y?z", "http://[::1]:8080", "[::1]:8080", "/x"),
        ("https://a.com/?a=//b@c:1", "https://a.com", "a.com:443", "/?a=//b@c:1"),
        ("https://a.com/@b:1", "https://a.com", "a.com:443", "/@b:1"),
    ],
)
def test_origin_site_and_request_target(text: str, origin: str, site: str, target: str) -> None:
    url = Url.parse(text)
    assert (url.origin, url.site, url.target) == (origin, site, target)


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://0X7F000001/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/", "http://127.0.0.1/"),
        ("http://①②⑦.⓪.⓪.①/", "http://127.0.0.1/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://%31%32%37.0.0.1/", "http://127.0.0.1/"),
        ("http://0/", "http://0.0.0.0/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
        ("http://[::FFFF:7F00:1]/", "http://[::ffff:7f00:1]/"),
        ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://localhost/"),
        ("http://loc\tal\r\nhost/", "http://localhost/"),
        ("http://local\u00adhost/", "http://localhost/"),
        ("  \x00 http://a.com/ \x1f ", "http://a.com/"),
        ("http:\\\\a.com\\b\\..\\c", "http://a.com/c"),
        ("http:a.com", "http://a.com/"),
        ("http:/a.com", "http://a.com/"),
        ("http:////a.com", "http://a.com/"),
        ("http://a.com\\@b.com/", "http://a.com/@b.com/"),
        ("http://ex%41mple.com/", "http://example.com/"),
        ("http://example.com./", "http://example.com./"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://faß.de/", "http://xn--fa-hia.de/"),
        ("http://a.com/%2e%2E/%2e/b", "http://a.com/b"),
        ("http://a.com/ü?ü#ü", "http://a.com/%C3%BC?%C3%BC#%C3%BC"),
        ("http://@a.com/", "http://a.com/"),
    ],
)
def test_whatwg_spellings(text: str, href: str) -> None:
    assert Url.parse(text).href == href


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "example.com",
        "/path",
        "//example.com/",
        "http://",
        "https://?q",
        "http://a b/",
        "http://a%00b/",
        "http://a.com:65536/",
        "http://a.com:port/",
        "http://256.1.1.1/",
        "http://1.2.3.4.5/",
        "http://0x100000000/",
        "http://[::1",
        "http://[::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[1::2::3]/",
        "http://a<b/",
        "http://%zz/",
        "http://\ud800/",
    ],
)
def test_what_is_not_a_url(text: str) -> None:
    assert refused(text)["reason"] == "invalid_url_format"


@pytest.mark.parametrize(
    "text",
    [
        "ftp://a.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "gopher://127.0.0.1:6379/_x",
        "view-source:https://a.com/",
        "chrome://version",
        "blob:https://a.com/x",
        "ws://a.com/",
        "localhost:3000",
        "httpx://a.com/",
        "about:blank",
    ],
)
def test_protocols_that_are_not_allowed(text: str) -> None:
    assert refused(text) == {"url": text, "reason": "invalid_protocol"}


@pytest.mark.parametrize(
    "text", ["https://user:hunter2@a.com/x", "https://hunter2@a.com/x", "https:hunter2@a.com/x"]
)
def test_credentials_are_refused_and_not_told_back(text: str) -> None:
    assert refused(text) == {"url": "https://a.com/x", "reason": "credentials_in_url"}


@pytest.mark.parametrize("text", ["ftp://u:hunter2@a.com/", "https://u:hunter2@a b/", "\\\\u:hunter2@a/"])
def test_no_refusal_tells_credentials_back(text: str) -> None:
    assert "hunter2" not in refused(text)["url"]


def test_length() -> None:
    start = "https://example.com/"
    assert len(Url.parse(start + "a" * (MAX_URL_CHARS - len(start))).href) == MAX_URL_CHARS
    assert refused(start + "a" * (MAX_URL_CHARS - len(start) + 1))["reason"] == "url_too_long"
    assert refused(start + "ü" * 400)["reason"] == "url_too_long"  # as it is sent
    assert len(refused(start + "a" * 1_000_000)["url"]) < 300


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("example.com/page?x", "Did you mean https://example.com/page?x?"),
        ("localhost:3000", "Did you mean https://localhost:3000?"),
        ("not a url", None),
    ],
)
def test_a_forgotten_scheme_gets_a_hint(text: str, hint: str | None) -> None:
    with pytest.raises(Problem) as caught:
        Url.parse(text)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("reference", "href"),
    [
        ("../x", "https://a.com/x"),
        ("?q", "https://a.com/b/c?q"),
        ("#f", "https://a.com/b/c?d#f"),
        ("//b.com", "https://b.com/"),
        ("http://b.com/y", "http://b.com/y"),
        ("/\\b.com/", "https://b.com/"),
        ("", "https://a.com/b/c?d"),
    ],
)
def test_join(reference: str, href: str) -> None:
    assert Url.parse("https://a.com/b/c?d").join(reference).href == href


def test_a_reference_is_refused_like_any_other() -> None:
    base = Url.parse("https://a.com/b")
    assert refused("javascript:void(0)", base)["reason"] == "invalid_protocol"
    assert refused("//user@b.com/", base)["reason"] == "credentials_in_url"
    assert refused("//[", base)["reason"] == "invalid_url_format"
    assert refused("x" * MAX_URL_CHARS, base)["reason"] == "url_too_long"


def test_urls_are_equal_when_they_are_spelt_the_same() -> None:
    assert Url.parse("HTTP://a.com:80") == Url.parse("http://A.com/")
    assert len({Url.parse("http://a.com/"), Url.parse("http://a.com"), Url.parse("http://a.com/#x")}) == 2


# The cache form: seed table, then its corners.


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("http://Example.com/Page", "https://example.com/Page"),
        ("https://example.com/page/", "https://example.com/page"),
        ("https://example.com/page?utm_source=google&id=5", "https://example.com/page?id=5"),
        ("https://example.com/page?b=2&a=1", "https://example.com/page?a=1&b=2"),
        ("https://example.com/page#section", "https://example.com/page"),
        ("https://example.com/page?fbclid=abc&ref=twitter", "https://example.com/page"),
    ],
)
def test_cache_form_of_the_table(text: str, form: str) -> None:
    url = Url.parse(text)
    assert cache_form(url) == form
    assert render_key(url) == f"render:v1:{form}"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("http://a.com:80/", "https://a.com/"),
        ("http://a.com:443/", "https://a.com/"),
        ("https://a.com:80/", "https://a.com:80/"),
        ("http://a.com:8080/", "https://a.com:8080/"),
        ("http://a.com//", "https://a.com/"),
        ("http://a.com/b//?", "https://a.com/b"),
        ("http://a.com/?UTM_Whatever=1&GClid=2&_ga=3&source=4&mc_eid=5&msclkid=6", "https://a.com/"),
        ("http://a.com/?reference=1&utm=2", "https://a.com/?reference=1&utm=2"),
        ("http://a.com/?%75tm_source=1&x=1", "https://a.com/?x=1"),
        ("http://a.com/?b=1&a=2&b=0", "https://a.com/?a=2&b=1&b=0"),
        ("http://a.com/?x=a%20b+c&y=~*-._!'()", "https://a.com/?x=a+b+c&y=%7E*-._%21%27%28%29"),
        ("http://a.com/?a&b=&=c&&", "https://a.com/?=c&a=&b="),
        ("http://a.com/?q=%zz&r=%2", "https://a.com/?q=%25zz&r=%252"),
        ("http://a.com/?\uffff=1&\U0001f600=2", "https://a.com/?%F0%9F%98%80=2&%EF%BF%BF=1"),
    ],
)
def test_cache_form_corners(text: str, form: str) -> None:
    assert cache_form(Url.parse(text)) == form


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("http://Example.com:80/Page", "http://example.com/Page"),
        ("https://example.com/page/", "https://example.com/page/"),
        ("https://example.com/page?utm_source=google&id=5", "https://example.com/page?id=5"),
        ("https://example.com/page?b=2&a=1", "https://example.com/page?a=1&b=2"),
        ("https://example.com/page?b=2&b=1&a", "https://example.com/page?a&b=2&b=1"),
        ("https://example.com/page#section", "https://example.com/page"),
        ("https://example.com/?%72ef=x&REF=y&re+f=1", "https://example.com/?re+f=1"),
        ("https://example.com/page?", "https://example.com/page"),
        ("https://example.com/page?&&a=%20&b=+&c=a=b", "https://example.com/page?a=%20&b=+&c=a=b"),
        ("https://example.com/a%2Fb/%7e?%FF=%fe", "https://example.com/a%2Fb/%7e?%FF=%fe"),
    ],
)
def test_shared_url_drops_what_a_key_drops_and_keeps_every_spelling(text: str, shared: str) -> None:
    assert shared_url(Url.parse(text)).href == shared


def test_bytes_that_are_not_utf8_stay_apart() -> None:
    forms = {cache_form(Url.parse(f"https://a.com/?q=%{byte:02X}")) for byte in range(128, 256)}
    assert len(forms) == 128


def test_tracking_is_configurable() -> None:
    url = Url.parse("https://a.com/?utm_source=1&Session_A=2&ref=3&x=4")
    tracking = Tracking.of(["session_*", "X"])
    assert cache_form(url, tracking) == "https://a.com/?ref=3&utm_source=1"
    assert crawl_form(url, Tracking.of([])) == "https://a.com/?Session_A=2&ref=3&utm_source=1&x=4"


# The crawl form: the seven rules of the seed, then corners.


@pytest.mark.parametrize(
    ("rule", "text", "form"),
    [
        ("1 lower case", "HTTP://EXAMPLE.com/Path", "http://example.com/Path"),
        ("2 no fragment", "https://example.com/a#b", "https://example.com/a"),
        ("3 default port", "http://example.com:80/", "http://example.com/"),
        ("3 default port", "https://example.com:443/", "https://example.com/"),
        ("3 other port", "http://example.com:443/", "http://example.com:443/"),
        ("4 sorted", "https://example.com/?b=2&a=1&a=0", "https://example.com/?a=0&a=1&b=2"),
        ("5 tracking", "https://example.com/?utm_id=1&ref=2&source=3&q=4", "https://example.com/?q=4"),
        ("6 slash kept", "https://example.com/a/", "https://example.com/a/"),
        ("7 decoded", "https://example.com/%7Eu%73er/%2f%3a", "https://example.com/~user/%2F%3A"),
        ("7 decoded", "https://example.com/?%71=%2Fa%7E", "https://example.com/?q=/a~"),
        ("7 kept", "https://example.com/?a=%26%3D%2B%23+%20", "https://example.com/?a=%26%3D%2B%23%20%20"),
        ("7 kept", "https://example.com/%%34%31/%2%35", "https://example.com/%2541/%2525"),
    ],
)
def test_crawl_form(rule: str, text: str, form: str) -> None:
    assert crawl_form(Url.parse(text)) == form, rule


def test_crawl_form_without_slash() -> None:
    for text in ("https://a.com/b/", "https://a.com/b//", "https://a.com/b"):
        assert crawl_form(Url.parse(text), keep_slash=False) == "https://a.com/b"
    assert crawl_form(Url.parse("https://a.com/"), keep_slash=False) == "https://a.com/"


# The audit form.


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("HTTPS://Example.com:443/a/#x", "https://example.com/a"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("http://example.com/a/?b=2&a=1&utm_source=x", "http://example.com/a?b=2&a=1&utm_source=x"),
    ],
)
def test_audit_form(text: str, form: str) -> None:
    assert audit_form(Url.parse(text)) == form


# Keys.


def test_digests_and_short_keys() -> None:
    form = "https://example.com/page"
    assert digest(form) == "3641c5f2274c5471278ab5bf1df6d1858d8aa392d85c51301abed2122a3c634f"
    assert rendered_name(form) == "rendered/3641c5f2274c5471.html"


def test_answer_keys_do_not_depend_on_order() -> None:
    key = answer_key("fetch", {"url": "https://a.com/", "options": {"b": 1, "a": [True, None]}})
    assert key == answer_key("fetch", {"options": {"a": [True, None], "b": 1}, "url": "https://a.com/"})
    assert re.fullmatch("weblens:fetch:[0-9a-f]{12}", key)
    assert key != answer_key("fetch", {"url": "https://a.com/", "options": {"b": 2, "a": [True, None]}})


# Properties.

HOSTS = st.sampled_from(
    ["a.com", "A.com.", "b.com", "xn--bcher-kva.de", "bücher.de", "1.2.3.4", "[2001:DB8::1]", "a.com.b.com"]
) | st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z]{2,5}){1,2}", fullmatch=True)
PORTS = st.sampled_from(["", ":80", ":443", ":8080", ":65535"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    "ab%2425/.?&=+~;:@'\"\\ #Eeü\U0001f600\uffff", max_size=24
)


@st.composite
def urls(draw: st.DrawFn) -> Url:
    scheme = draw(st.sampled_from(["http", "HTTPS"]))
    text = f"{scheme}://{draw(HOSTS)}{draw(PORTS)}/{draw(TEXT)}?{draw(TEXT)}#{draw(TEXT)}"
    try:
        return Url.parse(text)
    except Problem:
        assume(False)
        raise


@given(urls())
def test_p_a_parsed_url_parses_to_itself(url: Url) -> None:
    assert Url.parse(url.href) == url
    assert url.href == url.origin + url.target + url.href[len(url.origin + url.target) :]


@given(urls())
def test_p_canonical_forms_parse_to_themselves(url: Url) -> None:
    for form in FORMS:
        assert Url.parse(form(url)).href == form(url)


@given(urls())
def test_p_canonicalising_twice_is_once(url: Url) -> None:
    for form in FORMS:
        assert form(Url.parse(form(url))) == form(url)


@given(urls())
def test_p_a_shared_url_parses_to_itself_and_has_the_same_cache_form(url: Url) -> None:
    shared = shared_url(url)
    assert Url.parse(shared.href) == shared == shared_url(shared)
    assert (shared.scheme, shared.host, shared.port, shared.path) == (
        url.scheme,
        url.host,
        url.port,
        url.path,
    )
    assert shared.query == Url.parse(shared.href).query
    assert cache_form(shared) == cache_form(url)


@given(urls(), urls())
def test_p_different_hosts_never_merge(one: Url, other: Url) -> None:
    for form in FORMS:
        if one.host != other.host:
            assert form(one) != form(other)
        assert Url.parse(form(one)).host == one.host


@given(urls())
def test_p_the_audit_form_keeps_every_query(url: Url) -> None:
    assert Url.parse(audit_form(url)).query == url.query


@given(st.lists(st.tuples(st.text("abc", max_size=2), st.text("abc", max_size=2)), max_size=6), st.randoms())
def test_p_order_of_parameters_does_not_matter(pairs: list[tuple[str, str]], random: Any) -> None:
    shuffled = random.sample(pairs, len(pairs))
    one, other = (
        Url.parse("https://a.com/?" + "&".join(f"{name}={value}" for name, value in order))
        for order in (pairs, shuffled)
    )
    assert crawl_form(one) == crawl_form(other)
    if len({name for name, _ in pairs}) == len(pairs):
        assert cache_form(one) == cache_form(other)


@given(st.text(max_size=60))
def test_p_any_text_is_a_url_or_a_problem(text: str) -> None:
    try:
        url = Url.parse(text)
    except Problem:
        assert refused(text)["reason"]
    else:
        assert url.scheme in ("http", "https")
        assert url.host


@given(
    st.from_regex(_PLAIN, fullmatch=True),
    st.sampled_from(["", "127.0.0.1", "site.example", "1.2", "0x7f.1", "xn--a"]),
)
def test_p_a_plain_url_is_what_the_parser_makes_of_it(text: str, host: str) -> None:
    if host:
        text = re.sub("//[^/:]*", f"//{host}", text, count=1)
    elsewhere = Url.parse("http://other.example/")
    try:
        parsed = elsewhere.join(text)  # never taken for plain
    except Problem:
        assert refused(text) == refused(text, elsewhere)
    else:
        assert astuple(Url.parse(text)) == astuple(parsed)
