"""Which page: the name that a rendered page is cached under, and prefixes that name many."""

from typing import Final, NamedTuple, Self

from msgspec import Struct

from gossamer.problems import validation_error
from gossamer.web.url.url import Url, cache_form, digest

DEFAULT_VARIANT: Final = "default"


class PageKey(NamedTuple):
    """Names everything that the visit depends on: requests that share a page would cause the same visit."""

    tenant: str
    url: str  # exactly as it is visited: a `shared_url`
    variant: str = DEFAULT_VARIANT

    @property
    def form(self) -> str:
        """The cache form, under which all spellings of the page are shown and deleted together."""
        return cache_form(Url.parse(self.url))

    @property
    def name(self) -> str:
        """What it is stored under. None of the three can contain what separates them."""
        return digest("\n".join(self))


class PagePrefix(Struct, frozen=True):
    """Pages of one site: below a path, or with an asterisk at the end all whose URL starts with it.

    `https://example.com/docs` means that page and what is below it, never `/docs-old`; `…/docs*` means both.
    """

    site: str
    text: str
    starred: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        written = text.strip()
        starred = written.endswith("*")
        url = Url.parse(written.rstrip("*"))
        if url.query or "?" in written:
            raise validation_error("A prefix ends within the path; it has no query.")
        site = site_of(cache_form(url))
        form = site + url.path
        if starred and not _reaches_the_path(written):
            raise validation_error(
                "The asterisk must come after the host.", hint=f"For the whole site write {site}/*"
            )
        return cls(site, form if starred else form.rstrip("/"), starred)

    def __str__(self) -> str:
        return f"{self.text}*" if self.starred else self.text

    def matches(self, url: str) -> bool:
        """`url` is in its cache form."""
        if self.starred:
            return url.startswith(self.text)
        return url == self.text or url.startswith((f"{self.text}/", f"{self.text}?"))


def site_of(url: str) -> str:
    """The origin of a URL in its cache form."""
    return url[: url.index("/", len("https://"))]


def _reaches_the_path(written: str) -> bool:
    return "/" in written.partition("://")[2]
