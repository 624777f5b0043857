"""MapRequest and MapResult: the addresses of a site, as they are asked for and as they are found."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.pages.cache_options import CacheMetadata, CacheOptions
from gossamer.web.pages.page_request import MAX_TIMEOUT
from gossamer.web.url.url import Url

DEFAULT_LINKS: Final = 1_000
MAX_LINKS: Final = 50_000
DEFAULT_TIMEOUT: Final = 30_000  # milliseconds

SitemapUse = Literal["include", "only", "skip"]
SourceKind = Literal["robots", "sitemap", "page", "known"]
MapEnd = Literal["done", "limit", "timeout", "source"]


class MapRequest(CacheOptions, frozen=True):
    """Which site to map, and what of it."""

    url: Annotated[
        str, Meta(description="A page of the site, its homepage at best.", examples=["https://example.com/"])
    ]
    search: Annotated[
        Annotated[str, Meta(max_length=400)] | None,
        Meta(
            description="Only links with one of these words in address, title or description, those with "
            "most of them first.",
            examples=["pricing"],
        ),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LINKS, description="The most links.")] = DEFAULT_LINKS
    sitemap: Annotated[
        SitemapUse,
        Meta(
            description="`include` reads the site's sitemaps and its pages, `only` reads nothing but the "
            "sitemaps, `skip` reads none of them."
        ),
    ] = "include"
    include_subdomains: Annotated[
        bool, Meta(description="Links to all hosts of the domain, not to the host of `url` only.")
    ] = False
    ignore_query: Annotated[
        bool, Meta(description="Leave out queries, so that addresses that differ only there are one.")
    ] = False
    timeout: Annotated[
        int,
        Meta(
            ge=1_000,
            le=MAX_TIMEOUT,
            description="Milliseconds for everything. Then the answer has what was found, and "
            "`complete` is false.",
        ),
    ] = DEFAULT_TIMEOUT

    @property
    def address(self) -> Url:
        """Raises `Problem` if the URL cannot be used."""
        return Url.parse(self.url)

    @property
    def seconds(self) -> float:
        return self.timeout / 1000


class MapLink(Struct, frozen=True, rename="camel"):
    """A page of a site. Its title and description come from strangers."""

    url: str
    title: Annotated[
        str | UnsetType,
        Meta(description="Its title if it was read here, else what a sitemap or a link calls it."),
    ] = UNSET
    description: Annotated[str | UnsetType, Meta(description="Of a page that was read here.")] = UNSET


class MapSource(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Something that links were looked for in."""

    kind: Annotated[
        SourceKind, Meta(description="`known` are pages that were read or crawled here before, by you.")
    ]
    url: str = ""
    links: Annotated[int, Meta(description="Links of the site in it.")] = 0
    problem: Annotated[str, Meta(description="Why it could not be read, or not to its end.")] = ""


class MapResult(Struct, frozen=True):
    """What was found of a site."""

    links: tuple[MapLink, ...]
    found: int  # before `limit` and `search`
    end: MapEnd
    sources: tuple[MapSource, ...]
    at: float  # Unix seconds


class MapAnswer(Struct, frozen=True, rename="camel", kw_only=True):
    """The addresses of a site."""

    url: str
    links: Annotated[list[MapLink], Meta(description="Each page once.")]
    found: Annotated[int, Meta(description="All pages that were found, before `search` and `limit`.")]
    complete: Annotated[bool, Meta(description="Whether everything that was to be read was read, and shown.")]
    end: Annotated[
        MapEnd,
        Meta(
            description="Why it ended: `done`, at its `limit`, at its `timeout`, or `source`: one of the "
            "sources could not be read, see `sources`."
        ),
    ]
    sources: list[MapSource]
    request_id: str
    cache: CacheMetadata | UnsetType = UNSET
