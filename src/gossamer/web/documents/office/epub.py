"""EPUB: the chapters of a book in reading order."""

import posixpath
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from gossamer.web.documents.office.converted import Converted, HtmlWriter
from gossamer.web.documents.office.package import Package, attribute, find_all, refuse, resolve, text_of

MAX_CHAPTERS: Final = 2_000
_CONTAINER: Final = "META-INF/container.xml"


def convert_epub(package: Package) -> Converted:
    rootfile = next(find_all(package.xml(_CONTAINER), "rootfile"), None)
    name = attribute(rootfile, "full-path") if rootfile is not None else ""
    book = package.xml(name) if name else None
    if book is None:
        raise refuse("The book has no list of its chapters")
    folder = posixpath.dirname(name)
    files = {
        attribute(one, "id"): resolve(folder, attribute(one, "href"))
        for one in find_all(book, "item")
        if "html" in attribute(one, "media-type")
    }
    chapters = [files[key] for one in find_all(book, "itemref") if (key := attribute(one, "idref")) in files]
    html = HtmlWriter()
    for chapter in chapters[:MAX_CHAPTERS]:
        if not html.add(_body(package.read(chapter))):
            break
    return Converted(
        html=html.html,
        title=text_of(book, "title"),
        author=text_of(book, "creator"),
        description=text_of(book, "description"),
        created=text_of(book, "date"),
        language=text_of(book, "language"),
        page_count=len(chapters),
        complete=html.complete and len(chapters) <= MAX_CHAPTERS,
    )


def _body(chapter: bytes) -> str:
    body = LexborHTMLParser(chapter.decode("utf-8", "replace")).body
    return (body.html or "").removeprefix("<body>").removesuffix("</body>") if body else ""
