"""Signs of traps in a URL alone: circles, sessions, and dates that are far off."""

import pytest
from tests.crawl.walk import NOVEMBER_2026

from gossamer.web.crawl.traps.calendar import DateRange, time_of, without_dates
from gossamer.web.crawl.traps.repeats import rounds, runs_in_circles
from gossamer.web.crawl.traps.session_ids import has_session, path_without_session
from gossamer.web.url.url import Url


@pytest.mark.parametrize(
    ("path", "times"),
    [("a/b/a/b/a/b", 3), ("x/x/x", 3), ("a/b/c", 1), ("docs/x/x", 2), ("10/10/10", 1), ("a/b/a", 1), ("", 1)],
)
def test_rounds_are_counted(path: str, times: int) -> None:
    assert rounds(path.split("/")) == times


def test_a_circle_is_judged_by_the_page_that_leads_there() -> None:
    assert runs_in_circles("/a/b/a/b/a/b/", adds_nothing=True)
    assert not runs_in_circles("/a/b/a/b/a/b/", adds_nothing=False)
    assert runs_in_circles("/a" * 6, adds_nothing=False)
    assert runs_in_circles("/a/b/c/a/d/a/e/a", adds_nothing=True)
    assert not runs_in_circles("/src/main/java/main/Main.java", adds_nothing=True)


@pytest.mark.parametrize(
    ("path", "bare"),
    [
        ("/a;jsessionid=0A1B", "/a"),
        ("/(S(0a1b2c))/a.aspx", "/a.aspx"),
        ("/a;v=1", "/a;v=1"),
        ("/a(b)/", "/a(b)/"),
    ],
)
def test_session_ids_in_a_path_are_no_part_of_it(path: str, bare: str) -> None:
    assert path_without_session(path) == bare
    assert has_session(Url.parse(f"http://a{path}")) == (path != bare)


def test_only_names_of_frameworks_are_session_ids_at_once() -> None:
    assert has_session(Url.parse("http://a/?x=1&PHPSESSID=abc"))
    assert not has_session(Url.parse("http://a/?sid=abc&session=1"))


@pytest.mark.parametrize(
    ("target", "when"),
    [
        ("/calendar/2031/03", DateRange.FAR_OFF),
        ("/calendar/2027-06-01", DateRange.NEAR),
        ("/?year=2031&month=3", DateRange.FAR_OFF),
        ("/?date=1850-01-01", DateRange.FAR_OFF),
        ("/?month=2026-11", DateRange.NEAR),
        ("/2025/03/a-post", None),
        ("/item/2031", None),
        ("/?page=2031", None),
        ("/?id=20310301", None),
    ],
)
def test_a_date_is_far_off_or_not(target: str, when: DateRange | None) -> None:
    assert time_of(Url.parse(f"http://a{target}"), NOVEMBER_2026) is when


def test_empty_months_say_the_same() -> None:
    assert without_dates("Events of March 2031: none. Mon 3rd") == without_dates(
        "Events of May 1999: none. Sun 1st"
    )
