"""Puts a caller's cookies into the browser before a visit, and takes out those that the page has after it.

Every visit has a browser context of its own, so nobody else ever has them.
"""

from typing import Any

import msgspec

from gossamer.problems import Problem, validation_error
from gossamer.reach.browser.cdp import CdpRefused, CdpSession
from gossamer.web.render.cookies import MAX_SHOWN, PageCookie, SameSite
from gossamer.web.url.url import Url


class _JarCookie(msgspec.Struct, rename="camel"):
    name: str
    value: str
    domain: str
    path: str
    expires: float = -1  # Unix seconds
    http_only: bool = False
    secure: bool = False
    session: bool = False
    same_site: SameSite | None = None


class _Jar(msgspec.Struct):
    cookies: list[_JarCookie]


async def put_in(session: CdpSession, cookies: tuple[PageCookie, ...], url: Url, deadline: float) -> None:
    try:
        await session.tell(
            "Network.setCookies", deadline, cookies=[_parameters(cookie, url) for cookie in cookies]
        )
    except CdpRefused:
        raise _refused(cookies) from None


async def take_out(session: CdpSession, url: str, deadline: float) -> tuple[PageCookie, ...]:
    """The cookies that the page itself would get, and none of what it embeds."""
    jar = await session.ask(_Jar, "Network.getCookies", deadline, urls=[url])
    return tuple(
        PageCookie(
            name=cookie.name,
            value=cookie.value,
            domain=cookie.domain,
            path=cookie.path,
            secure=cookie.secure,
            http_only=cookie.http_only,
            same_site=cookie.same_site,
            expires=None if cookie.session else cookie.expires,
        )
        for cookie in jar.cookies[:MAX_SHOWN]
    )


def _parameters(cookie: PageCookie, url: Url) -> dict[str, Any]:
    """With a URL instead of a domain, a cookie is for that host alone."""
    scheme = "https" if cookie.secure else url.scheme
    given = {
        "name": cookie.name,
        "value": cookie.value,
        "url": f"{scheme}://{cookie.host or url.host}/",
        "domain": cookie.domain if cookie.domain.startswith(".") else None,
        "path": cookie.path,
        "secure": cookie.secure,
        "httpOnly": cookie.http_only,
        "sameSite": cookie.same_site,
        "expires": cookie.expires,
    }
    return {name: value for name, value in given.items() if value is not None}


def _refused(cookies: tuple[PageCookie, ...]) -> Problem:
    return validation_error(
        "The browser does not take a cookie - at `$.cookies`.",
        hint="A cookie with SameSite=None, __Secure- or __Host- must be `secure`; together they have 4 kB.",
        details={"cookies": [cookie.name for cookie in cookies]},
    )
