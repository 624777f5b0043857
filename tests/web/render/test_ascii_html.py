"""A document in ASCII reads the same."""

import json
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.render.ascii_html import to_ascii

# What a document can contain: no controls, surrogates or characters that markup is made of.
TEXT = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Cn"), exclude_characters="<>&\"'\\"), max_size=50
)


@given(TEXT)
def test_text_and_attributes_read_the_same(text: str) -> None:
    html = f'<p title="{text}">{text}</p><textarea>{text}</textarea><!--{text}-->'
    written = to_ascii(html)
    assert written.isascii()
    assert unescape(written) == html


@given(TEXT)
def test_json_reads_the_same(text: str) -> None:
    written = to_ascii(f'<script type="application/ld+json">{{"a": "{text}"}}</script>')
    assert written.isascii()
    assert json.loads(written.partition(">")[2].partition("</")[0]) == {"a": text}


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>plain</p>", "<p>plain</p>"),
        ("<style>a{content:'ü'}</style>ü", r"<style>a{content:'\fc '}</style>&#252;"),
        ("<script>a='ü'</script>", r"<script>a='\u00fc'</script>"),
        ("<SCRIPT type=module>'😀'</SCRIPT >", r"<SCRIPT type=module>'\ud83d\ude00'</SCRIPT >"),
        ('<script type="text/html"><p>ü</script>', '<script type="text/html"><p>&#252;</script>'),
        ("<!-- <script>ü -->ü", "<!-- <script>&#252; -->&#252;"),
        ("<!-- ü", "<!-- &#252;"),
        ("<script>ü", r"<script>\u00fc"),
        ("a\x85b\x9fü", "ab&#252;"),  # a reference to such a control would mean another character
        ("<scripty>ü</scripty>", "<scripty>&#252;</scripty>"),
    ],
)
def test_each_language_has_its_escapes(html: str, expected: str) -> None:
    assert to_ascii(html) == expected
