"""What robots see: facts of a page with and without its scripts, and the templates of a site."""

from gossamer.web.pages.page import Page
from gossamer.web.sites.page_facts import SeenVerdict, compare, facts_of
from gossamer.web.sites.site_comparison import AskedCounts, ComparedPage, group, worst

TEXT = " ".join(f"word{number}" for number in range(80))
HEAD = """<title>Lamp</title><meta name=description content="A lamp."><link rel=canonical href="/lamp">
<script type="application/ld+json">{"@graph": [{"@type": ["Product", "Thing"]}]}</script>"""


def page(html: str, status: int = 200) -> Page:
    url = "https://a.example/lamp"
    return Page(
        url=url,
        final_url=url,
        status=status,
        headers=(("x-robots-tag", "NoArchive"),),
        body=html.encode(),
        media_type="text/html",
        charset="utf-8",
    )


def test_the_facts_are_what_a_robot_reads() -> None:
    facts = facts_of(
        page(f"{HEAD}<meta name=robots content=noindex><h1>A  lamp</h1><p>{TEXT}</p><a href=/b>b</a>")
    )
    assert (facts.title, facts.description) == ("Lamp", "A lamp.")
    assert facts.canonical == "https://a.example/lamp"
    assert facts.robots == "noindex, noarchive"
    assert facts.headlines == ["A lamp"]
    assert facts.structured == ["Product", "Thing"]
    assert facts.words == 83


def test_a_shell_a_part_and_the_whole_are_told_apart() -> None:
    whole = page(f"{HEAD}<h1>Lamp</h1><p>{TEXT}</p><a href=/b>b</a>")
    assert compare(whole, whole).verdict is SeenVerdict.SAME
    shell = compare(page("<title>Shop</title><div id=root></div><script src=/app.js></script>"), whole)
    assert shell.verdict is SeenVerdict.SHELL
    assert shell.shared < 0.1
    assert {"title", "description", "canonical", "headlines", "structured", "words", "links"} == set(
        shell.differences
    )
    part = compare(page(f"{HEAD}<p>{TEXT}</p><a href=/b>b</a>"), whole)
    assert (part.verdict, part.differences) == (SeenVerdict.PARTLY, ["headlines"])
    assert compare(page("<p>Not found</p>", 404), page("<p>Not found</p>")).differences == ["status"]


def test_templates_follow_from_addresses_and_robots_come_first() -> None:
    urls = [f"https://a.example/shop/{name}" for name in ("a", "b", "c")]
    urls += ["https://a.example/blog/x", "https://a.example/", "https://a.example/?page=2", "nonsense:"]
    asked = {"https://a.example/blog/x": AskedCounts(9, 3), "https://a.example/shop/b": AskedCounts(2, 1)}
    found = group(urls, asked, most=3)
    assert [(one.pattern, one.visits, one.misses) for one in found] == [
        ("/blog/{word}", 9, 3),
        ("/shop/{word}", 2, 1),
        ("/", 0, 0),
    ]
    assert found[1].urls[0] == "https://a.example/shop/b"


def test_a_template_is_as_bad_as_its_worst_page() -> None:
    def pages(*verdicts: SeenVerdict) -> list[ComparedPage]:
        return [ComparedPage(url="", verdict=verdict) for verdict in verdicts]

    assert worst(pages(SeenVerdict.SAME, SeenVerdict.SHELL, SeenVerdict.PARTLY)) is SeenVerdict.SHELL
    assert worst(pages(SeenVerdict.SAME, SeenVerdict.UNKNOWN)) is SeenVerdict.SAME
    assert worst(pages(SeenVerdict.UNKNOWN)) is SeenVerdict.UNKNOWN
