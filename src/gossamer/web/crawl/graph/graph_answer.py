"""What calls about the graph of a crawl are answered with."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

GraphSection = Literal["pages", "orphans", "broken", "redirects", "clusters"]
GraphSort = Literal["pageRank", "inlinks", "outlinks", "depth", "hub", "authority"]
KnownFrom = Literal["seed", "sitemap", "page"]


class GraphHost(msgspec.Struct, rename="camel"):
    """Another host that pages of the crawl link to."""

    host: str
    links: int


class GraphSummary(msgspec.Struct, rename="camel"):
    """The graph in numbers."""

    pages: int
    links: Annotated[int, Meta(description="Between pages of the crawl. A page counts once for each target.")]
    outside_links: Annotated[int, Meta(description="To hosts of which the crawl has no page.")]
    uncrawled_links: Annotated[int, Meta(description="To URLs of its hosts that it has not fetched.")]
    outside_hosts: Annotated[list[GraphHost], Meta(description="Those with most links.")]
    redirects: Annotated[int, Meta(description="Pages that redirect.")]
    redirect_chains: Annotated[int, Meta(description="Redirects that lead to another redirect.")]
    redirect_loops: int
    broken: Annotated[int, Meta(description="Linked pages with an error, or without an answer.")]
    orphans: Annotated[int, Meta(description="Pages that no other page links to, seeds included.")]
    unreachable: Annotated[int, Meta(description="Pages to which no path of links leads from a seed.")]
    depths: Annotated[list[int], Meta(description="Pages that are 0, 1, 2, … links away from a seed.")]
    pages_without_links: Annotated[
        int, Meta(description="Pages whose links are not known, because neither they nor the body is kept.")
    ]
    is_whole: Annotated[bool, Meta(description="Whether all pages and links of the crawl are in it.")]


class LinkingPage(msgspec.Struct, rename="camel"):
    """A page that links to another one."""

    page_id: str
    url: str


class GraphNode(msgspec.Struct, rename="camel"):
    """A page in the graph."""

    page_id: str
    url: str
    title: str | None
    status_code: int | None
    outcome: str
    depth: Annotated[int | None, Meta(description="Links away from a seed; `null` if no path leads there.")]
    inlinks: Annotated[int, Meta(description="Pages of the crawl that link to it.")]
    outlinks: Annotated[int, Meta(description="Pages of the crawl that it links to.")]
    outside_links: int
    page_rank: Annotated[float, Meta(description="Its share of all visits by random clicks; the sum is 1.")]
    hub: Annotated[float, Meta(description="How well it links to authorities; the best has 1.")]
    authority: Annotated[float, Meta(description="How well hubs link to it; the best has 1.")]
    known_from: Annotated[
        KnownFrom | UnsetType | None, Meta(description="Of orphans: how the crawl found it.")
    ] = UNSET
    linked_from: Annotated[
        list[LinkingPage] | UnsetType, Meta(description="Of broken pages: the first that link to it.")
    ] = UNSET


class ShownRedirect(msgspec.Struct, rename="camel"):
    """A redirect, and those that follow it."""

    steps: Annotated[list[LinkingPage], Meta(description="The redirects, in order.")]
    leads_to: Annotated[str, Meta(description="Where the last one leads.")]
    is_loop: bool
    inlinks: Annotated[int, Meta(description="Pages that link to the first one.")]


class ShownCluster(msgspec.Struct, rename="camel"):
    """Pages whose addresses begin alike."""

    prefix: Annotated[str, Meta(description="Host with port, and folder. It is the `within` to look inside.")]
    is_rest: Annotated[bool, Meta(description="Whether it is the folder without its larger folders.")]
    pages: int
    page_rank: Annotated[float, Meta(description="The sum of its pages'.")]
    broken: int
    redirects: int
    example: LinkingPage
    links_to: Annotated[dict[str, int], Meta(description="Links to pages of other clusters, by prefix.")]


class GraphAnswer(msgspec.Struct, rename="camel"):
    """The graph of a crawl, and one section of it."""

    crawl_id: str
    summary: GraphSummary
    section: GraphSection
    made_at: Annotated[str, Meta(description="What was stored later is not in it.")]
    pages: list[GraphNode] | UnsetType = UNSET
    redirects: list[ShownRedirect] | UnsetType = UNSET
    clusters: list[ShownCluster] | UnsetType = UNSET
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next ones.")] = None
