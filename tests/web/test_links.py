"""References are made absolute as the URL standard does it, and only those that lead somewhere."""

import pytest
from ada_url import join_url
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.extract import extract
from gossamer.web.links import Addresses, Link

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
