"""PPTX: the slides in order, each with its title, its lists, tables and notes."""

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from gossamer.web.documents.office.converted import Converted, HtmlWriter, escape, table
from gossamer.web.documents.office.package import Package, attribute, find_all, local

MAX_SLIDES: Final = 1_000
_PRESENTATION: Final = "ppt/presentation.xml"
_TITLES: Final = frozenset(("title", "ctrTitle"))
_FRAME: Final = frozenset(("dt", "ftr", "sldNum", "hdr"))  # on every slide


def convert_pptx(package: Package) -> Converted:
    html = HtmlWriter()
    slides = list(_slides(package))
    for name in slides[:MAX_SLIDES]:
        if not html.add(_slide(package, name)):
            break
    return Converted(
        html=html.html,
        **package.core_properties(),
        page_count=len(slides),
        complete=html.complete and len(slides) <= MAX_SLIDES,
    )


def _slides(package: Package) -> Iterator[str]:
    files = package.related(_PRESENTATION)
    for slide in find_all(package.xml(_PRESENTATION), "sldId"):
        reference = next((value for key, value in slide.items() if key.endswith("}id")), "")
        if reference in files:
            yield files[reference]


def _slide(package: Package, name: str) -> str:
    root = package.xml(name)
    blocks = [] if root is None else list(_blocks(root))
    titles = [text for is_title, text in blocks if is_title]
    rest = [text for is_title, text in blocks if not is_title]
    notes = next((one for one in package.related(name).values() if "/notesSlides/" in f"/{one}"), "")
    said = _notes(package.xml(notes)) if notes else ""
    return "".join([*(f"<h2>{title}</h2>" for title in titles[:1]), *titles[1:], *rest, said])


def _blocks(root: Element) -> Iterator[tuple[bool, str]]:
    """The texts of a slide in order, and whether each is its title."""
    for shape in find_all(root, "sp", "tbl"):
        if local(shape) == "tbl":
            yield False, _table(shape)
            continue
        kind = next((attribute(one, "type") or "body" for one in find_all(shape, "ph")), "")
        if kind in _TITLES:
            yield True, " ".join(text for _, text in _paragraphs(shape))
        elif kind not in _FRAME:
            yield False, _body(shape, listed=kind in ("body", "obj", "subTitle"))


def _body(shape: Element, *, listed: bool) -> str:
    paragraphs = list(_paragraphs(shape))
    if not listed or len(paragraphs) < 2:
        return "".join(f"<p>{text}</p>" for _, text in paragraphs)
    html, depth = "", -1
    for level, text in paragraphs:
        while depth > level:
            html, depth = f"{html}</li></ul>", depth - 1
        opened = "<ul>" * max(0, level - depth)
        html += f"{opened}<li>{text}" if opened else f"</li><li>{text}"
        depth = max(depth, level)
    return html + "</li></ul>" * (depth + 1)


def _paragraphs(shape: Element) -> Iterator[tuple[int, str]]:
    for paragraph in find_all(shape, "p"):
        level = next((attribute(one, "lvl") for one in find_all(paragraph, "pPr")), "")
        pieces = (one.text or "" if local(one) == "t" else " " for one in find_all(paragraph, "t", "br"))
        text = " ".join("".join(pieces).split())
        if text:
            yield min(8, int(level)) if level.isdecimal() else 0, escape(text)


def _table(element: Element) -> str:
    rows = [
        [" ".join(text for _, text in _paragraphs(cell)) for cell in row if local(cell) == "tc"]
        for row in find_all(element, "tr")
    ]
    return table(rows)


def _notes(root: Element | None) -> str:
    said = [text for is_title, text in ([] if root is None else _blocks(root)) if not is_title and text]
    return f"<blockquote>{''.join(said)}</blockquote>" if said else ""
