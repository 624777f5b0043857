"""The graph of a crawl: what is computed from pages and their links."""

import csv
import io
import random
import xml.etree.ElementTree as ET

import pytest

from gossamer.web.crawl.graph.clusters import MAX_CLUSTERS, cluster
from gossamer.web.crawl.graph.crawl_graph import CrawlGraph, GraphBuilder, GraphLink, GraphPage, host_of
from gossamer.web.crawl.graph.drawing import HEIGHT, WIDTH, draw
from gossamer.web.crawl.graph.graph_files import GraphCsvFile, GraphMlFile
from gossamer.web.crawl.graph.link_note import LinkPlace
from gossamer.web.crawl.graph.link_section import NotedLink, SectionWriter, unpack_section
from gossamer.web.crawl.graph.ranking import (
    LinkMatrix,
    NumpyLinks,
    PlainLinks,
    hubs_and_authorities,
    page_rank,
)

ORIGIN = "https://a.test"


def page(path: str, *, to: str = "", status: int | None = 200, depth: int = 1) -> GraphPage:
    url = ORIGIN + path
    return GraphPage(
        path.encode().hex().ljust(64, "0"),
        url,
        ORIGIN + to if to else url,
        "a.test:443",
        status,
        "ok",
        path,
        depth,
        None if to or status is None else "crawls/1",
    )


def graph_of(pages: list[GraphPage], links: dict[str, list[str]]) -> CrawlGraph:
    builder = GraphBuilder(
        lambda url: url.removeprefix(ORIGIN).partition("?")[0].encode().hex().ljust(64, "0")
    )
    builder.add_pages(pages)
    writer = SectionWriter()
    for one in pages:
        path = one.url.removeprefix(ORIGIN)
        if one.blob:
            urls = [target if "://" in target else ORIGIN + target for target in links.get(path, [])]
            writer.add(one.url_hash, urls, [("", "", 0)] * len(urls))
    builder.add_section(unpack_section(writer.pack()), "crawls/1")
    return builder.finish()


def paths(graph: CrawlGraph, numbers: list[int]) -> list[str]:
    return [graph.pages[number].url.removeprefix(ORIGIN) for number in numbers]


SITE = [
    page("/", depth=0),
    page("/a"),
    page("/b"),
    page("/orphan"),
    page("/gone", status=404),
    page("/dead", status=None),
    page("/old", to="/older", status=301),
    page("/older", to="/b", status=302),
    page("/x", to="/y", status=302),
    page("/y", to="/x", status=302),
]
LINKS = {
    "/": ["/a", "/old", "/gone", "https://other.test/1", "/not-fetched", "/"],
    "/a": ["/b?utm_source=x", "/gone", "/dead", "/x"],
    "/b": ["/", "/a"],
    "/orphan": ["/a"],
}


def test_orphans_depths_broken_targets_and_redirects_are_found() -> None:
    graph = graph_of(SITE, LINKS)
    assert paths(graph, graph.orphans) == ["/orphan"]
    assert paths(graph, graph.broken) == ["/gone", "/dead"]
    depths = dict(zip(paths(graph, list(range(10))), graph.depths, strict=True))
    assert depths["/"] == 0
    assert (depths["/a"], depths["/b"], depths["/orphan"], depths["/dead"]) == (1, 1, -1, 2)
    gone = graph.broken[0]
    assert paths(graph, graph.linking_to([gone], 10)[gone]) == ["/", "/a"]
    loop, chain = graph.chains
    assert (loop.is_loop, sorted(paths(graph, list(loop.pages)))) == (True, ["/x", "/y"])
    assert (chain.is_loop, paths(graph, list(chain.pages))) == (False, ["/old", "/older"])
    assert chain.leads_to == f"{ORIGIN}/b"
    assert (sum(graph.outside), graph.uncrawled, graph.unread) == (1, 1, 0)
    assert dict(graph.outside_hosts) == {"other.test:443": 1}


def test_links_of_another_blob_are_outdated() -> None:
    builder = GraphBuilder(lambda url: "")
    builder.add_pages([page("/"), page("/a")])
    writer = SectionWriter()
    writer.add(page("/").url_hash, [f"{ORIGIN}/a"], [("", "", 0)])
    builder.add_section(unpack_section(writer.pack()), "crawls/0")
    assert [one.url for one in builder.unread()] == [f"{ORIGIN}/", f"{ORIGIN}/a"]


def test_a_graph_is_bounded() -> None:
    builder = GraphBuilder(lambda url: "", max_pages=2, max_links=1)
    builder.add_pages([page("/"), page("/a"), page("/b")])
    builder.add_links(page("/").url_hash, [f"{ORIGIN}/a"])
    builder.add_links(page("/a").url_hash, [f"{ORIGIN}/"])
    graph = builder.finish()
    assert (len(graph.pages), len(graph.targets), graph.is_whole) == (2, 1, False)


@pytest.mark.parametrize("kind", [PlainLinks, NumpyLinks])
def test_pagerank_of_a_known_graph(kind: type[LinkMatrix]) -> None:
    # The example of Page and Brin's students everywhere: three pages, a -> b, a -> c, b -> c, c -> a.
    pages = [page("/a"), page("/b"), page("/c")]
    graph = graph_of(pages, {"/a": ["/b", "/c"], "/b": ["/c"], "/c": ["/a"]})
    ranks = page_rank(kind(graph.starts, graph.targets))  # type: ignore[call-arg]
    assert ranks == pytest.approx([0.387790, 0.214811, 0.397400], abs=1e-5)
    hubs, authorities = hubs_and_authorities(kind(graph.starts, graph.targets))  # type: ignore[call-arg]
    assert (hubs.index(1.0), authorities.index(1.0)) == (0, 2)


def test_both_ways_of_ranking_agree() -> None:
    chance = random.Random(7)
    pages = [page(f"/{number}") for number in range(60)]
    links = {f"/{number}": [f"/{chance.randrange(60)}" for _ in range(number % 7)] for number in range(60)}
    graph = graph_of(pages, links)
    plain, fast = (page_rank(kind(graph.starts, graph.targets)) for kind in (PlainLinks, NumpyLinks))
    assert plain == pytest.approx(fast, abs=1e-9)
    assert sum(plain) == pytest.approx(1.0)


def test_clusters_are_few_complete_and_drawn_inside_the_picture() -> None:
    pages = [page(f"/{number % 90}/{number % 7}/page-{number}") for number in range(3_000)]
    graph = graph_of([page("/", depth=0), *pages], {"/": [f"/{n % 90}/{n % 7}/page-{n}" for n in range(50)]})
    ranks = [1 / len(graph.pages)] * len(graph.pages)
    found = cluster(graph, ranks)
    assert len(found.clusters) <= MAX_CLUSTERS
    assert sum(one.pages for one in found.clusters) == len(graph.pages)
    drawing = draw(found)
    assert len(drawing.circles) == len(found.clusters)
    for circle in drawing.circles:
        assert circle.radius <= circle.x <= WIDTH - circle.radius
        assert circle.radius <= circle.y <= HEIGHT - circle.radius
    assert [(circle.x, circle.y) for circle in draw(found).circles] == [
        (one.x, one.y) for one in drawing.circles
    ]
    inside = cluster(graph, ranks, "a.test:443/5/")
    assert 0 < inside.pages == sum(one.pages for one in inside.clusters) < 100


def test_labels_say_where_a_folder_is_and_do_not_overlap() -> None:
    folders = [f"/{top}/{year}/" for top in ("blog", "news", "archive") for year in range(2014, 2026)]
    pages = [page(f"{folder}{number}.html") for folder in folders for number in range(40)]
    graph = graph_of([page("/", depth=0), *map(page, folders), *pages], {"/": folders})
    found = cluster(graph, [1 / len(graph.pages)] * len(graph.pages))
    circles = draw(found).circles
    assert {"blog/2014", "news/2014", "…"} <= {circle.label for circle in circles}
    assert len({circle.hue for circle in circles if circle.label.startswith("blog/20")}) == 1
    for one, circle in enumerate(circles):
        for other in circles[one + 1 :]:
            beside = abs(circle.x - other.x) >= circle.half_width + other.half_width - 2
            down = circle.y + circle.half_height - other.y - other.half_height
            assert beside or abs(down) >= circle.half_height + other.half_height - 2
    # The first page of a folder does not keep it from being divided.
    inside = cluster(graph, [1 / len(graph.pages)] * len(graph.pages), "a.test:443/blog/")
    assert len(inside.clusters) == 12


def test_files_carry_hostile_texts_as_texts() -> None:
    text = '=cmd|"/C calc"!A0 <&>\x00'
    link = GraphLink(page("/"), NotedLink(f"{ORIGIN}/a?x=<&>", text, ("nofollow",), LinkPlace.NAV))
    table = GraphCsvFile("links")
    rows = list(csv.reader(io.StringIO((table.begin() + table.add_links([link])).decode())))
    assert rows[0] == ["from", "to", "text", "rel", "place"]
    assert rows[1][2].startswith("'=cmd")
    file = GraphMlFile()
    whole = file.begin() + file.add_links([link]) + file.end()
    root = ET.fromstring(whole)
    space = "{http://graphml.graphdrawing.org/xmlns}"
    assert [node.get("id") for node in root.iter(f"{space}node")] == [f"{ORIGIN}/a?x=<&>"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.test/x", "a.test:443"),
        ("http://a.test?x", "a.test:80"),
        ("http://u@a.test:81/", "a.test:81"),
    ],
)
def test_hosts_have_their_ports(url: str, host: str) -> None:
    assert host_of(url) == host
