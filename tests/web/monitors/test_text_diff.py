"""Differences: right, bounded in time, and written in each format."""

from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.monitors.diff.sequence_diff import edits
from gossamer.web.monitors.diff.text_diff import DiffRow, RowKind, diff_texts
from gossamer.web.monitors.diff.words import word_pieces
from gossamer.web.monitors.diff.writing import markdown, unified
from gossamer.web.monitors.noise.noise_kind import ALL_NOISE
from gossamer.web.monitors.noise.noise_lines import SeenText

SMALL = st.lists(st.sampled_from("abcdef"), max_size=30)


def rows(old: str, new: str) -> tuple[DiffRow, ...]:
    return diff_texts(SeenText(old, 0.0), SeenText(new, 0.0), ALL_NOISE).rows


@given(SMALL, SMALL)
def test_edits_cover_both_sequences_and_equal_ranges_are_equal(old: list[str], new: list[str]) -> None:
    found = edits(old, new)
    assert [at for edit in found for at in edit.old] == list(range(len(old)))
    assert [at for edit in found for at in edit.new] == list(range(len(new)))
    for edit in found:
        if edit.kind == "equal":
            assert [old[at] for at in edit.old] == [new[at] for at in edit.new]


@given(st.text(max_size=60), st.text(max_size=60))
def test_word_pieces_give_back_both_lines(old: str, new: str) -> None:
    pieces = word_pieces(old, new)
    squeezed = [
        "".join("".join(piece.text for piece in pieces if piece.kind is not left_out).split())
        for left_out in (RowKind.ADDED, RowKind.REMOVED)
    ]
    assert squeezed == ["".join(old.split()), "".join(new.split())]


def test_hostile_texts_are_compared_in_bounded_time() -> None:
    shapes = ("12 " * 14 + "views", "12 November 2026, 10:00 " * 3, "vor 12 vor " * 6)
    began = process_time()
    for shape in shapes:
        old = "\n".join(f"{shape} {number}" for number in range(300))
        new = "\n".join(f"{shape} {number}x" for number in range(300))
        rows(old, new)
        rows("\n".join([shape] * 5_000), "\n".join([shape, "b"] * 2_500))
    assert process_time() - began < 15  # about two seconds; without bounds, minutes


def test_unified() -> None:
    old = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight"
    assert unified(rows(old, old.replace("four", "4"))) == (
        "--- before\n+++ after\n@@ -1,7 +1,7 @@\n one\n two\n three\n-four\n+4\n five\n six\n seven\n"
    )


def test_unified_shows_noise_as_it_is_now() -> None:
    text = unified(rows("price 5\n10 views\nend", "price 6\n12 views\nend"))
    assert text == "--- before\n+++ after\n@@ -1,3 +1,3 @@\n-price 5\n+price 6\n 12 views\n end\n"


def test_nothing_changed_is_an_empty_difference() -> None:
    same = rows("one\n3 views", "one\n4 views")
    assert (unified(same), markdown(same)) == ("", "")


def test_markdown_marks_words_inside_of_lines() -> None:
    text = markdown(rows("a\nThe fee is £38 a week.\nb", "a\nThe fee is £39 a week.\nb"))
    assert text == "a\n\nThe fee is £~~38~~**39** a week.\n\nb\n"


def test_markdown_cannot_be_forged_by_the_page() -> None:
    text = markdown(rows("x", "x\n**bold** [link](javascript:1) <b>"))
    assert text.endswith("**\\*\\*bold\\*\\* \\[link\\](javascript:1) \\<b\\>**\n")


def test_neighbouring_words_are_one_change() -> None:
    found = word_pieces("we refund the unused part", "we keep all of the unused part")
    assert [(piece.kind.value, piece.text) for piece in found] == [
        ("same", "we "),
        ("removed", "refund"),
        ("added", "keep all of"),
        ("same", " the unused part"),
    ]
