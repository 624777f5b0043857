"""Cookies that a caller sends along to a page, and that the page has set."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from gossamer.problems import Problem, validation_error
from gossamer.web.url.domain import domain_of
from gossamer.web.url.url import Url

MAX_COOKIES: Final = 50  # sent along
MAX_SHOWN: Final = 200  # in an answer
SameSite = Literal["Strict", "Lax", "None"]


class PageCookie(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """A cookie, in the same form in requests and answers."""

    name: Annotated[str, Meta(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")]
    value: Annotated[str, Meta(pattern=r"^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e\" ,\\]{0,4096}$")]
    domain: Annotated[
        str,
        Meta(
            max_length=254,
            description="The host that gets it, `www.example.com`; with a dot before it, `.example.com`, its "
            "subdomains too. By default the host of the page.",
        ),
    ] = ""
    path: Annotated[str, Meta(pattern=r"^/[\x21-\x3a\x3c-\x7e]{0,1023}$")] = "/"
    secure: Annotated[bool, Meta(description="Only over https.")] = False
    http_only: Annotated[bool, Meta(description="Not for scripts of the page.")] = False
    same_site: SameSite | None = None
    expires: Annotated[
        float | None, Meta(description="Unix seconds; without it, it ends with the visit.")
    ] = None

    @property
    def host(self) -> str:
        return self.domain.lower().removeprefix(".")

    def goes_to(self, url: Url) -> bool:
        """Whether a request for the URL carries it, if it was set for a page at that host."""
        if self.domain.startswith("."):
            at_home = url.host == self.host or url.host.endswith(f".{self.host}")
        else:
            at_home = not self.domain or url.host == self.host
        path, own = url.target.partition("?")[0], self.path.rstrip("/")
        below = path == self.path or path.startswith(f"{own}/")
        return at_home and below and (not self.secure or url.scheme == "https")


SentCookies = Annotated[
    tuple[PageCookie, ...],
    Meta(max_length=MAX_COOKIES, description="Sent along to the page's own domain and nowhere else."),
]


def check_cookies(cookies: tuple[PageCookie, ...], url: Url) -> None:
    """Raise `Problem` for a cookie of another domain than the page's."""
    for number, cookie in enumerate(cookies):
        if cookie.domain and domain_of(cookie.host) != domain_of(url.host):
            raise _invalid_cookie(number, f"The cookie is for {cookie.domain!r}, not for the page's domain")
        if cookie.name.startswith("__Host-") and cookie.domain.startswith("."):
            raise _invalid_cookie(number, "A cookie with the prefix __Host- has no domain")


def cookie_header(cookies: tuple[PageCookie, ...], url: Url) -> str:
    """The value of `Cookie` for a request for the URL."""
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies if cookie.goes_to(url))


def _invalid_cookie(number: int, fault: str) -> Problem:
    return validation_error(
        f"{fault} - at `$.cookies[{number}]`.", hint="Leave `domain` out to send it to the page's host."
    )
