"""The layout of PDFs: places and letters tell headings, lists, tables and columns."""

import time
from collections.abc import Iterator, Sequence

import pytest
from tests.web.documents.pdf_files import Shown, laid_out

from gossamer.web.documents.pdf.fragments import MAX_FRAGMENTS
from gossamer.web.documents.pdf.pdf import read_pdf

PROSE = (
    "Orb weavers build a new web nearly every day, mostly at night, and eat the old one first.",
    "They begin with a thread that the wind carries to a twig or a leaf across the gap, which",
    "they pull tight and then strengthen by walking over it with more silk, several times over.",
)
JOINED = " ".join(PROSE)
NARROW = """Garden spiders sit in their webs
all day long and wait for flies,
which do not see the threads, as
those are thinner than any hair.
When one is caught the web moves
and the spider comes to bind it,
with silk from its other glands,
and keeps it for the next night.""".splitlines()
ASIDE = """House spiders build funnels that
they sit in, and run out of them
when something walks over it, be
it large or small, by day and by
night. They live for some years,
which few of the others ever do,
and they need very little water,
so they like houses well enough.""".splitlines()


def column(lines: Sequence[str], y: float, x: float = 72, size: float = 10) -> Iterator[Shown]:
    for row, line in enumerate(lines):
        yield Shown(x, y - 12 * row, line, size)


def markdown(*texts: Shown) -> str:
    return read_pdf(laid_out(texts)).markdown[0]


def test_larger_and_bold_lines_are_headings_by_the_rank_of_their_size() -> None:
    read = markdown(
        Shown(72, 740, "On spiders and", 24), Shown(72, 714, "their webs", 24),
        Shown(72, 680, "Weaving", 16), *column(PROSE, 660),
        Shown(72, 604, "At night", 10, "F2"), *column(PROSE, 590),
    )  # fmt: skip
    assert read == f"# On spiders and their webs\n\n## Weaving\n\n{JOINED}\n\n### At night\n\n{JOINED}"


def test_bold_means_nothing_where_most_is_bold() -> None:
    bold = (shown._replace(font="F2") for shown in column(PROSE, 700))
    assert markdown(*bold, Shown(72, 640, "Short", 10, "F2")) == f"{JOINED}\n\nShort"


def test_wrapped_lines_are_a_paragraph_and_a_gap_or_an_indent_begins_one() -> None:
    read = markdown(*column(PROSE, 700), *column(PROSE, 650), Shown(90, 614, "Indented."))
    assert read == f"{JOINED}\n\n{JOINED}\n\nIndented."


def test_a_word_that_was_divided_is_one_again() -> None:
    lines = (
        *PROSE[:2],
        "they pull tight and then strengthen by walking over it with more silk, sev-",
        "eral times.",
    )
    assert markdown(*column(lines, 700)).endswith("more silk, several times.")


def test_lines_that_end_early_stay_lines() -> None:
    address = ("Museum of Webs", "12 Thread Lane", "Silkborough")
    assert markdown(*column(PROSE, 700), *column(address, 640)) == f"{JOINED}\n\n" + "\n".join(address)


def test_bullets_and_numbers_are_lists_nested_by_indent() -> None:
    read = markdown(
        *column(PROSE, 740),
        Shown(72, 690, "•"), Shown(90, 690, "The first"),
        Shown(90, 678, "•"), Shown(108, 678, "A nested one, long enough to go on in the next line, as"),
        Shown(108, 666, "it is here"),
        Shown(72, 654, "•"), Shown(90, 654, "The second"),
        Shown(72, 620, "1. Walk"), Shown(72, 608, "2. Run"),
    )  # fmt: skip
    assert read.removeprefix(JOINED).strip() == (
        "- The first\n"
        "  - A nested one, long enough to go on in the next line, as it is here\n"
        "- The second\n"
        "1. Walk\n"
        "2. Run"
    )


def test_columns_are_read_one_after_the_other() -> None:
    title = Shown(72, 740, "A title across both columns of the page, and wide", 16)
    left, right = tuple(column(NARROW, 700)), tuple(column(ASIDE, 700, x=320))
    expected = ["#", *title.text.split(), *" ".join(NARROW + ASIDE).split()]
    by_rows = [shown for row in zip(left, right, strict=True) for shown in row]
    assert markdown(title, *left, *right).split() == expected
    assert markdown(title, *by_rows).split() == expected


def test_short_columns_are_read_as_they_were_written() -> None:
    left, right = column(NARROW[:5], 600), column(ASIDE[:5], 600, x=320)
    read = markdown(*column(PROSE, 700), *left, *right)
    assert " ".join(read.split()).endswith(" ".join(NARROW[:5] + ASIDE[:5]))


def row(y: float, *cells: str) -> Iterator[Shown]:
    for at, cell in enumerate(cells):
        if cell:
            yield Shown(72 + 130 * at, y, cell)


def test_aligned_rows_are_a_table() -> None:
    read = markdown(
        *column(PROSE, 740),
        *row(680, "Name", "Legs", "Web"), *row(666, "Garden spider", "8", "a | wheel"),
        *row(652, "House spider", "", "funnel"), *row(638, "Harvestman", "8", "none"),
        *column(PROSE, 600),
    )  # fmt: skip
    assert read == (
        f"{JOINED}\n\n"
        "| Name | Legs | Web |\n| --- | --- | --- |\n| Garden spider | 8 | a \\| wheel |\n"
        f"| House spider |  | funnel |\n| Harvestman | 8 | none |\n\n{JOINED}"
    )


def test_cells_of_several_lines_are_one_row() -> None:
    read = markdown(
        *row(700, "Name", "Found"), *row(676, "Garden", "In gardens and"), *row(665, "spider", "meadows"),
        *row(641, "House", "In houses,"), *row(630, "spider", "mostly"), *row(619, "", "in cellars"),
    )  # fmt: skip
    assert read == (
        "| Name | Found |\n| --- | --- |\n| Garden spider | In gardens and meadows |\n"
        "| House spider | In houses, mostly in cellars |"
    )


def test_two_rows_are_no_table() -> None:
    assert (
        markdown(*row(700, "Name", "Legs"), *row(686, "Garden spider", "8")) == "Name Legs\nGarden spider 8"
    )


def test_letters_of_one_width_are_code_with_its_indentation() -> None:
    code = (Shown(72, 640, "def spin():", 10, "F3"), Shown(96, 628, "return 8", 10, "F3"))
    fenced = "```\ndef spin():\n    return 8\n```"
    assert markdown(*column(PROSE, 700), *code) == f"{JOINED}\n\n{fenced}"
    assert markdown(*code) == "def spin():\n\nreturn 8"


def test_contents_keep_their_lines() -> None:
    lines = ("Weaving . . . . . . . . . . . . . 3", "Hunting ................... 12")
    assert markdown(*column(lines, 700)) == "Weaving … 3\nHunting … 12"


def test_what_would_be_markdown_is_escaped() -> None:
    assert (
        markdown(Shown(72, 700, "# no heading"), Shown(72, 660, "| no table"))
        == "\\# no heading\n\n\\| no table"
    )


def pages(count: int) -> bytes:
    return laid_out(*(
        [
            Shown(72, 760, f"Chapter {number}: Webs"), Shown(520, 760, f"{number}"),
            *column(PROSE, 700 - number), Shown(300, 30, f"Page {number} of {count}"),
        ]
        for number in range(1, count + 1)
    ))  # fmt: skip


def test_running_heads_feet_and_page_numbers_are_left_out() -> None:
    read = read_pdf(pages(3))
    assert read.markdown == (JOINED,) * 3
    assert all("Page" in text and "Chapter" in text for text in read.pages)


def test_what_two_pages_have_in_common_is_kept() -> None:
    assert all("Page" in text for text in read_pdf(pages(2)).markdown)


def test_numbers_at_the_top_of_a_table_are_no_page_numbers() -> None:
    tables = [[one for at in range(4) for one in row(760 - 12 * at, name * 9, str(at))] for name in "abc"]
    assert all(text.startswith(f"| {text[2] * 9} | 0 |") for text in read_pdf(laid_out(*tables)).markdown)


def test_boxes_beside_each_other_by_chance_keep_their_lines() -> None:
    boxes = [Shown(72 + 200 * (at % 2) + at, 700 - 9 * (at * 7 % 12), f"Box {at}") for at in range(12)]
    read = read_pdf(laid_out(boxes))
    assert sorted(read.markdown[0].split()) == sorted(read.pages[0].split())


@pytest.mark.parametrize("step", [1, 60])
def test_a_page_of_many_fragments_takes_little_time_and_keeps_its_lines(step: int) -> None:
    count = 2 * MAX_FRAGMENTS
    body = laid_out([Shown(at * step % 600, at * 7 % 790, "ab", 1) for at in range(count)])
    before = time.thread_time()
    read = read_pdf(body)
    assert time.thread_time() - before < 5
    assert read.pages[0].count("ab") == read.markdown[0].count("ab") == count
