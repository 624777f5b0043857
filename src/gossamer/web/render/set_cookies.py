"""Reads `Set-Cookie` as browsers do (RFC 6265, section 5), to know the cookies that a plain fetch leaves."""

import re
from email.utils import parsedate_to_datetime
from typing import Final

from msgspec.structs import replace

from gossamer.web.pages.page import Page
from gossamer.web.render.cookies import MAX_SHOWN, PageCookie, SameSite
from gossamer.web.url.domain import domain_of
from gossamer.web.url.url import Url

MAX_CHARS: Final = 8_192  # of one field
_SECONDS: Final = re.compile(r"-?[0-9]{1,12}")
_SAME_SITE: Final[dict[str, SameSite]] = {"strict": "Strict", "lax": "Lax", "none": "None"}


def cookies_after(sent: tuple[PageCookie, ...], page: Page, now: float) -> tuple[PageCookie, ...]:
    """The cookies that a next request for the page would carry: those that were sent, as the answers have
    changed them."""
    begin, final = Url.parse(page.url), Url.parse(page.final_url)
    jar: dict[tuple[str, str, str], PageCookie] = {}
    for cookie in sent:
        _keep(jar, cookie if cookie.domain else replace(cookie, domain=begin.host), now)
    own = [(page.final_url, value) for name, value in page.headers if name == "set-cookie"]
    for url, field in (*page.set_cookies, *own):
        found = read_set_cookie(field, Url.parse(url), now)
        if found is not None:
            _keep(jar, found, now)
    return tuple(cookie for cookie in jar.values() if cookie.goes_to(final))[:MAX_SHOWN]


def read_set_cookie(field: str, url: Url, now: float) -> PageCookie | None:
    """The cookie that an answer from `url` sets; None for one that a browser would not take."""
    pair, *attributes = field[:MAX_CHARS].split(";")
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        return None
    given = {}
    for attribute in attributes:
        key, _, said = attribute.partition("=")
        given[key.strip().lower()] = said.strip()
    domain = given.get("domain", "").lower().removeprefix(".")
    if domain and not _may_set(url.host, domain):
        return None
    secure = "secure" in given
    if secure and url.scheme != "https":
        return None
    path, is_address = (
        given.get("path", ""),
        url.host.startswith("[") or url.host.rpartition(".")[2].isdigit(),
    )
    return PageCookie(
        name=name.strip(),
        value=value.strip(),
        domain=url.host if is_address or not domain else f".{domain}",
        path=path if path.startswith("/") else _default_path(url),
        secure=secure,
        http_only="httponly" in given,
        same_site=_SAME_SITE.get(given.get("samesite", "").lower()),
        expires=_expiry(given, now),
    )


def _keep(jar: dict[tuple[str, str, str], PageCookie], cookie: PageCookie, now: float) -> None:
    key = (cookie.name, cookie.domain, cookie.path)
    jar.pop(key, None)
    if cookie.expires is None or cookie.expires > now:
        jar[key] = cookie


def _may_set(host: str, domain: str) -> bool:
    within = host == domain or host.endswith(f".{domain}")
    return within and domain_of(domain) == domain_of(host)


def _default_path(url: Url) -> str:
    folder = url.path.rpartition("/")[0]
    return folder or "/"


def _expiry(given: dict[str, str], now: float) -> float | None:
    """`Max-Age` wins over `Expires`. A date that cannot be read counts as none."""
    if _SECONDS.fullmatch(given.get("max-age", "")):
        return now + int(given["max-age"])
    try:
        return parsedate_to_datetime(given["expires"].replace("-", " ")).timestamp()
    except (KeyError, ValueError, OverflowError, TypeError):
        return None
