"""Footnotes, in every form that pages give them: the mark is `[^1]`, and the note `[^1]: …`."""

import re

import pytest
from tests.web.markdown.forms import read_forms

from gossamer.web.content.article import extract

URL = "https://site.example/docs/page.html"
FORMS = read_forms("note_forms.txt")


@pytest.mark.parametrize("form", FORMS)
def test_a_footnote_is_kept(form: str) -> None:
    html, expected = FORMS[form]
    assert extract(html, URL, main_content=False).markdown == expected


NOT_NOTES = {
    "equations": '<p>By (<a href="#thm">1</a>).</p><h3 id="thm">Theorem</h3><p>It holds.</p>',
    "sections": '<p>See <a href="#s2">2</a>.</p><section id="s2"><h2>Two</h2><p>Text.</p></section>',
    "powers": "<p>10<sup>6</sup> and x<sup>2</sup></p><p>2 things.</p>",
    "links to nowhere": '<p>Said.<sup><a href="#gone">1</a></sup></p>',
    "links to the top": '<p>a</p><p><a href="#top">1</a></p>',
}


@pytest.mark.parametrize("name", NOT_NOTES)
def test_what_is_no_footnote_stays_as_it_is(name: str) -> None:
    assert "[^" not in extract(NOT_NOTES[name], URL, main_content=False).markdown


def test_every_mark_has_its_note_also_outside_of_the_main_content() -> None:
    prose = "<p>" + "This is a sentence of the article, and it goes on. " * 12
    html = (
        f"<article>{prose}<sup><a href='#fn1'>1</a></sup></p>{prose}</article>"
        "<footer class='site-footer'><ol><li id='fn1'>The note. <a href='#ref'>↩</a></ol></footer>"
    )
    markdown = extract(html, URL).markdown
    assert markdown.endswith("[^1]: The note.")
    assert set(re.findall(r"\[\^\w+\](?!:)", markdown)) == {"[^1]"}


def test_two_notes_of_one_number_get_numbers_of_their_own() -> None:
    html = "".join(
        f"<p>Part {part}.<sup><a href='#fn{part}'>1</a></sup></p><ol><li id='fn{part}'>Note {part}.</ol>"
        for part in "ab"
    )
    markdown = extract(html, URL, main_content=False).markdown
    assert markdown == "Part a.[^1]\n\n[^1]: Note a.\n\nPart b.[^2]\n\n[^2]: Note b."


def test_thousands_of_notes_in_one_paragraph_are_all_kept() -> None:
    marks = "".join(f"x<sup><a href='#f{at}'>*</a></sup>" for at in range(3_000))
    notes = "".join(f"<a name='f{at}'></a> note here <br>" for at in range(3_000))
    markdown = extract(f"<p>{marks}</p><p>{notes}</p>", URL, main_content=False).markdown
    assert len(re.findall(r"^\[\^\d+\]: note here$", markdown, re.MULTILINE)) == 3_000
