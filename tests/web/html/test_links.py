"""References are made absolute as the URL standard does it, and only those that lead somewhere."""

import pytest
from ada_url import join_url
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.content.article import extract
from gossamer.web.html.links import MAX_CACHED_CHARS, Addresses, Folders, Link, LinkFolder

URL = "https://site.example/docs/page.html?q=1"
PARTS = st.sampled_from(
    [
        "/",
        "a",
        "B",
        ".",
        "..",
        "%2e",
        "?",
        "=",
        "&",
        "#",
        "//",
        "host.example",
        "www",
        ":",
        "80",
        ":8080",
        ":08080",
        "10.0.0.1",
        "1.2.3.256",
        "0x7f.1",
        "xn--",
        "~",
        " ",
        "é",
        "\\",
        "-",
        "_",
    ]
)


@settings(max_examples=500)
@given(
    st.lists(PARTS, max_size=9).map("".join),
    st.sampled_from(
        ["", "/", "../", "../../../../", "a/b/", "http://", "http://a.example", "https://b.example/"]
    ),
)
def test_the_short_way_says_what_the_standard_says(rest: str, start: str) -> None:
    reference = start + rest
    for page in (
        URL,
        "https://site.example",
        "http://127.0.0.1:8080/a//b/c/",
        "https://site.example/a?b/c#/d",
    ):
        if found := Addresses(page).absolute(reference):
            assert found == join_url(page, reference.strip())


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 4), st.lists(PARTS, max_size=6).map("".join)), max_size=30))
def test_what_was_learned_on_one_page_is_right_on_the_next(found: list[tuple[int, str]]) -> None:
    pages = (URL, "https://site.example/docs/?a", "https://site.example/", "http://site.example/docs/b", "x:")
    folders = Folders(most=3)
    for number, reference in found:
        page = pages[number]
        known = Addresses(page, folders=folders).absolute(reference)
        assert known == Addresses(page).absolute(reference)


def test_of_a_folder_only_so_much_is_remembered() -> None:
    folder = LinkFolder("https://site.example/docs/", most=2)
    found = [folder[reference] for reference in ("x" * (MAX_CACHED_CHARS + 1), "a", "/b", "c")]
    assert found[1:] == [
        "https://site.example/docs/a",
        "https://site.example/b",
        "https://site.example/docs/c",
    ]
    assert list(folder) == ["a", "/b"]


def test_of_folders_only_so_many_are_remembered() -> None:
    folders = Folders(most=2)
    first = folders.of("https://site.example/a/1.html")
    assert folders.of("https://site.example/a/2.html?q#f") is first
    folders.of("https://site.example/b/")
    folders.of("https://site.example/c/")
    assert folders.of("https://site.example/a/1.html") is not first


@pytest.mark.parametrize(
    "reference",
    ["javascript:x", "JaVaScript:x", "java\nscript:x", "data:,x", "blob:x", "", " ", "http://[", "x" * 9_000],
)
def test_what_leads_nowhere_is_no_address(reference: str) -> None:
    assert Addresses(URL).absolute(reference) == ""


def test_a_base_that_is_none_is_not_heeded() -> None:
    assert Addresses(URL, "javascript:x").absolute("y") == "https://site.example/docs/y"


def test_links_are_told_once_without_fragments_with_text_and_rel() -> None:
    html = (
        "<a href=a#x rel='NoFollow UGC'> one <b>two</b></a><a href=a>again</a>"
        "<a href=mailto:x@y.example>m</a><a href=#top>t</a>"
    )
    assert extract(html, URL).links == (
        Link("https://site.example/docs/a", "one two", ("nofollow", "ugc")),
        Link(URL, "t"),
    )


def test_a_link_takes_its_text_from_where_it_has_some() -> None:
    html = "<a href=a><img src=i></a><a href=a>text</a><a href=b title=named></a>"
    assert [link.text for link in extract(html, URL).links] == ["text", "named"]


def test_the_text_of_a_link_has_no_styles_and_scripts_of_what_it_draws() -> None:
    html = (
        "<a href=a><svg><style>.x{fill:red}</style><title>Logo</title></svg> Home</a>"
        "<a href=b><style>.y{}</style></a><a href=c><script>f()</script>go <i>on</i></a>"
    )
    assert [link.text for link in extract(html, URL).links] == ["Logo Home", "", "go on"]
