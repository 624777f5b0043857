"""Cookies that go to a page, and those that its answers set."""

import pytest

from gossamer.problems import Problem
from gossamer.web.pages.page import Page
from gossamer.web.render.cookies import PageCookie, check_cookies, cookie_header
from gossamer.web.render.set_cookies import cookies_after, read_set_cookie
from gossamer.web.url.url import Url

NOW = 1_000_000.0
HERE = Url.parse("https://www.example.co.uk/shop/cart?x=1")


def cookie(**given: object) -> PageCookie:
    return PageCookie(name="a", value="b", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "goes"),
    [
        ({}, True),
        ({"domain": "www.example.co.uk"}, True),
        ({"domain": "example.co.uk"}, False),
        ({"domain": ".example.co.uk"}, True),
        ({"domain": "shop.example.co.uk"}, False),
        ({"path": "/shop"}, True),
        ({"path": "/shop/"}, True),
        ({"path": "/sho"}, False),
        ({"path": "/shop/cart"}, True),
        ({"path": "/shop/cart/"}, False),
        ({"secure": True}, True),
    ],
)
def test_a_cookie_goes_where_it_belongs(given: dict[str, object], goes: bool) -> None:
    assert cookie(**given).goes_to(HERE) is goes
    assert (cookie_header((cookie(**given),), HERE) == "a=b") is goes


def test_a_secure_cookie_goes_over_tls_only() -> None:
    assert not cookie(secure=True).goes_to(Url.parse("http://www.example.co.uk/"))


@pytest.mark.parametrize(
    "domain", ["other.co.uk", ".co.uk", "co.uk", "evil-example.co.uk", ".uk", "localhost"]
)
def test_a_cookie_of_another_domain_is_refused(domain: str) -> None:
    with pytest.raises(Problem, match=r"cookies\[0\]"):
        check_cookies((cookie(domain=domain),), HERE)


@pytest.mark.parametrize("domain", ["", "example.co.uk", ".example.co.uk", "shop.example.co.uk"])
def test_a_cookie_of_the_own_domain_is_taken(domain: str) -> None:
    check_cookies((cookie(domain=domain),), HERE)


def test_rfc6265_5_2_set_cookie_is_read() -> None:
    field = "a=b; Domain=example.co.uk; Path=/x; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure"
    assert read_set_cookie(f"{field}; HttpOnly; SameSite=lax", HERE, NOW) == PageCookie(
        name="a",
        value="b",
        domain=".example.co.uk",
        path="/x",
        secure=True,
        http_only=True,
        same_site="Lax",
        expires=NOW + 60,
    )
    plain = PageCookie(name="a", value="", domain="www.example.co.uk", path="/shop")
    assert read_set_cookie("a=; SameSite=odd; Expires=nonsense; Path=relative", HERE, NOW) == plain
    old = read_set_cookie("a=b; Expires=Wed, 09-Jun-2021 10:18:14 GMT", HERE, NOW)
    assert old
    assert old.expires == 1_623_233_894


@pytest.mark.parametrize(
    "field",
    ["", "a", "=b", "a=b; Domain=co.uk", "a=b; Domain=other.co.uk", "a=b; Domain=x.www.example.co.uk"],
)
def test_what_no_browser_takes_is_left_out(field: str) -> None:
    assert read_set_cookie(field, HERE, NOW) is None


def test_cookies_after_a_fetch_are_those_that_the_next_one_would_send() -> None:
    page = Page(
        url="https://www.example.co.uk/in",
        final_url=HERE.href,
        status=200,
        headers=(("set-cookie", "late=1; Path=/"), ("set-cookie", "gone=; Path=/; Max-Age=0")),
        body=b"",
        media_type="text/html",
        charset="utf-8",
        set_cookies=(
            ("https://www.example.co.uk/in", "gone=1; Path=/"),
            ("https://www.example.co.uk/in", "late=0; Path=/"),
            ("https://elsewhere.example/", "foreign=1; Path=/"),
            ("https://www.example.co.uk/in", "deep=1; Path=/in"),
        ),
    )
    found = cookies_after((cookie(), PageCookie(name="gone", value="0")), page, NOW)
    assert [(one.name, one.value) for one in found] == [("a", "b"), ("late", "1")]
