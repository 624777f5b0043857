"""Site memory: what recurs on the pages of a site is left out, and what is their own stays."""

import pytest
from bench.ground_truth import by_shingles
from bench.site_pages import SITES, MadeSite
from bench.site_pages.site import paragraphs, sentences

from gossamer.web.content.article import extract
from gossamer.web.content.recurring import MIN_PAGES, learn, sketch
from gossamer.web.content.site_memory import SiteMemory

MIN_F1 = 0.97
NOTICE = "<p>This notice stands on each of the pages, and says nothing about what they are about.</p>"


def text_of(html: str, memory: SiteMemory | None = None) -> str:
    return extract(html, "https://example.org/page", memory=memory).text


def learned(pages: list[str]) -> SiteMemory:
    return learn([sketch(page) for page in pages])


def page(number: int, body: str, count: int = 5) -> str:
    """A page with paragraphs of its own behind the body."""
    own = paragraphs(sentences("own", number, count))
    return f"<title>Page {number}</title><main><h1>Page {number}</h1>{body}{own}</main>"


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_what_recurs_on_a_site_goes_and_what_is_a_pages_own_stays(site: MadeSite) -> None:
    memory = learned([each.html for each in site.pages])
    alone = by_shingles([(each.own, text_of(each.html)) for each in site.pages])
    found = [text_of(each.html, memory) for each in site.pages]
    remembered = by_shingles([(each.own, text) for each, text in zip(site.pages, found, strict=True)])
    assert remembered.f1 >= MIN_F1 > alone.f1 + 0.05
    assert remembered.recall >= alone.recall
    assert not [
        line for each, text in zip(site.pages, found, strict=True) for line in each.site_wide if line in text
    ]


def test_a_block_must_recur_on_four_pages_and_a_third_of_all() -> None:
    few = [page(at, NOTICE) for at in range(MIN_PAGES)]
    assert learned(few[:-1]) == SiteMemory()
    assert len(learned(few).keys) == 1
    assert learned([*few, *(page(at, "") for at in range(20, 32))]) == SiteMemory()


def test_versions_of_a_page_count_as_one() -> None:
    versions = [
        page(number, f"<p>Written for version {at}.0 of it.</p>") for number in range(3) for at in range(4)
    ]
    assert learned(versions) == SiteMemory()


def test_sentences_that_differ_by_a_number_are_not_the_same() -> None:
    towns = [
        page(at, f"<p>At the last census, the town had {900 + at} inhabitants in all.</p>") for at in range(8)
    ]
    assert learned(towns) == SiteMemory()


def test_cells_code_and_headings_of_documentation_stay() -> None:
    rows = "".join(
        f"<tr><td>--option-{at}</td><td>what this option of the program does</td></tr>" for at in range(3)
    )
    code = "<pre>make all install check clean</pre>"
    shared = f"<h2>All options of the program in one place</h2><table>{rows}</table>{code}"
    assert learned([page(at, shared) for at in range(8)]) == SiteMemory()


def test_a_page_that_would_lose_most_of_its_text_keeps_all_of_it() -> None:
    shared = paragraphs(sentences("shared", 0, 6))
    pages = [page(at, shared, count=6 if at else 2) for at in range(6)]
    memory = learned(pages)
    assert sentences("shared", 0, 6)[2] in text_of(pages[0], memory)
    assert sentences("shared", 0, 6)[2] not in text_of(pages[1], memory)


def test_a_heading_goes_only_with_all_that_stands_below_it() -> None:
    body = f"<h2>Notices</h2>{NOTICE}<h2>Examples</h2>{NOTICE}<h3>First one</h3>"
    pages = [page(at, body) for at in range(6)]
    found = extract(pages[0], "https://example.org/page", memory=learned(pages)).markdown
    assert ("Notices" in found, "This notice" in found) == (False, False)
    assert ("## Examples" in found, "### First one" in found) == (True, True)
