"""Traps and honest sites: how many pages are stored, whether all that is worth something is found, and what
is told."""

import pytest
from tests.crawl.walk import Walked, walk
from tests.site import trap_pages
from tests.site.trap_pages import TrapSite, page

from gossamer.web.crawl.traps.trap import TrapKind

MOST = {  # pages that may be stored of each
    "one page, session id": 10,
    "session id": 45,
    "session number": 55,
    "session id and time": 55,
    "session id and a clock": 45,
    "session in the path": 35,
    "session as a folder": 45,
    "calendar, two years of events": 200,
    "facets, 200 products": 1_000,
    "paths in circles": 150,
    "paths in circles with a clock": 800,
    "pages without end": 220,
}
KINDS = {
    "one page, session id": TrapKind.COPIES,
    "session in the path": TrapKind.SESSION_ID,
    "calendar, two years of events": TrapKind.CALENDAR,
    "facets, 200 products": TrapKind.FACETS,
    "paths in circles": TrapKind.COPIES,
    "paths in circles with a clock": TrapKind.DUPLICATES,
    "pages without end": TrapKind.DUPLICATES,
}


@pytest.mark.parametrize("site", trap_pages.traps(), ids=lambda site: site.name)
def test_a_trap_is_left_with_everything_that_it_has(site: TrapSite) -> None:
    walked = walk(site.answer, most=2_000)
    assert len(walked.useful) == site.useful
    assert len(walked.stored) <= MOST[site.name]
    assert KINDS.get(site.name, TrapKind.PARAMETER) in walked.kinds
    assert all(example.startswith("http://127.0.0.1/") for _, example in walked.cut.values())


@pytest.mark.parametrize(
    "site",
    [
        trap_pages.long_list(400),
        trap_pages.figures(400),
        trap_pages.gallery(150),
        trap_pages.small_shop(),
        trap_pages.articles(200),
    ],
    ids=lambda site: site.name,
)
def test_an_honest_site_is_crawled_as_without_care(site: TrapSite) -> None:
    walked = walk(site.answer)
    assert (len(walked.useful), walked.cut) == (site.useful, {})


def test_without_care_everything_is_followed() -> None:
    site = trap_pages.one_page()
    assert len(walk(site.answer, most=500, traps="off").stored) == 500


def test_what_is_named_an_exception_is_followed() -> None:
    site = trap_pages.endless_pages()
    assert len(walk(site.answer, most=500, trap_exceptions=("/list*",)).stored) == 500


def _versions(target: str) -> str | None:
    """The same documentation twice, almost: real pages all of them, though nearly copies."""
    *_, version, name = f"/old{target}".split("/") if target.count("/") == 1 else target.split("/")
    links = [f"/{version}/p{number}" for number in range(60)] + ["/new/"]
    return page(f"useful-{version}-{name} Version {version}. {trap_pages.words(name, 400)}", links)


def test_a_part_that_resembles_another_part_is_crawled_as_well() -> None:
    walked = walk(_versions)
    assert {f"useful-new-p{number}".encode() for number in range(60)} <= walked.useful


def _soft_404(target: str) -> str | None:
    if target in ("/", "/a", "/b"):
        return page(f"useful-{target[1:] or 'home'} {trap_pages.words(target)}", ["/a", "/b", "/c1"])
    number = int(target[2:])
    return page("Sorry, the page that you are looking for was not found.", [f"/c{number + 1}", "/a"])


def test_pages_that_do_not_exist_lead_on_only_a_few_times() -> None:
    walked: Walked = walk(_soft_404, most=1_000)
    assert len(walked.useful) == 3
    assert len(walked.stored) < 80
