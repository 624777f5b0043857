"""Documents: the title, Markdown and text of pages that are not HTML.

Data is shown in a fence, tables as tables, feeds as lists of entries, PDFs by their pages, office documents
by their headings, lists and tables; text and Markdown stay as they are. A document longer than `MAX_CHARS` is
cut between lines and marked as truncated. Files without text (images, archives, programs) raise a `Problem`.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.web.content.article import extract
from gossamer.web.documents import data, feeds
from gossamer.web.documents.feeds import Feed, FeedEntry
from gossamer.web.documents.kind import ContentKind, kind_of
from gossamer.web.documents.pdf.pdf_document import Pdf, Recognise
from gossamer.web.html.links import Addresses, Link
from gossamer.web.markdown.fences import fence
from gossamer.web.pages.page import Page

MAX_CHARS: Final = 1_000_000  # of Markdown, and of text
MAX_ENTRIES: Final = 500


class Document(Struct, frozen=True):
    kind: ContentKind
    title: str
    markdown: str
    text: str
    description: str = ""
    author: str = ""
    published: str = ""  # ISO 8601
    language: str = ""
    links: tuple[Link, ...] = ()
    page_count: int | None = None
    truncated: bool = False  # there is more than is shown
    scanned: bool = False  # it has pictures of text that were not recognised
    recognised: bool = False  # some of its text was recognised in pictures


def read(page: Page, recognise: Recognise | None = None) -> Document:
    """Read a page that is not HTML; raises only `Problem`."""
    kind = kind_of(page.media_type, page.body, path_of(page.final_url))
    if kind is ContentKind.PDF:
        return _read_pdf(page, recognise)
    reader = _READERS.get(kind)
    if reader is None:
        raise unsupported(kind, page)
    return reader(page)


def unsupported(kind: ContentKind, page: Page) -> Problem:
    return Problem(
        CONTENT_UNREADABLE,
        f"The target is {_NAMES.get(kind, 'binary data')} ({page.media_type or 'of no declared type'}), "
        "which has no text to read",
        hint="Give the address of a page, a feed, a PDF, an office document or a text.",
        details={
            "url": page.final_url,
            "reason": "unsupported_content",
            "kind": kind.value,
            "mediaType": page.media_type,
        },
    )


_NAMES: Final = {
    ContentKind.IMAGE: "an image",
    ContentKind.AUDIO: "an audio file",
    ContentKind.VIDEO: "a video",
    ContentKind.FONT: "a font",
    ContentKind.ARCHIVE: "an archive",
}


def path_of(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def file_name(url: str) -> str:
    """Return the last part of the path, or else the host, as the name of a file without a title."""
    name = unquote(path_of(url).rstrip("/").rpartition("/")[2])
    return " ".join(name.split())[:200] or url.partition("://")[2].partition("/")[0]


def _bound(document: Document) -> Document:
    if len(document.markdown) <= MAX_CHARS and len(document.text) <= MAX_CHARS:
        return document
    markdown, text = _cut(document.markdown), _cut(document.text)
    return replace(document, markdown=markdown, text=text, truncated=True)


def _cut(text: str) -> str:
    """Keep as many whole lines as fit; a single longer line is cut anywhere."""
    if len(text) <= MAX_CHARS:
        return text
    end = text.rfind("\n", 0, MAX_CHARS)
    return text[: end if end > 0 else MAX_CHARS]


# Text.


def _read_text(page: Page) -> Document:
    text = _normalise(page.text)
    language = _code_language(page)
    document = Document(ContentKind.TEXT, file_name(page.final_url), text, text)
    if language:
        return _fence(document, language)
    return _bound(replace(document, title=_heading(text) or document.title))


def _read_markdown(page: Page) -> Document:
    text = _normalise(page.text)
    return _bound(Document(ContentKind.MARKDOWN, _heading(text) or file_name(page.final_url), text, text))


def _read_xml(page: Page) -> Document:
    text = _normalise(page.text)
    return _fence(Document(ContentKind.XML, file_name(page.final_url), "", text), "xml")


def _fence(document: Document, language: str) -> Document:
    """Put the text in a fence, which is closed even if the text is cut."""
    text = _cut(document.text)
    markdown = fence(text.strip("\n"), language)
    return replace(document, markdown=markdown, text=text, truncated=len(text) < len(document.text))


_NUL: Final = re.compile("[\x00\ufeff]")
_FRONT_MATTER: Final = re.compile(r"---\n(?:.{0,500}\n){0,50}?title:[ \t]*(.{1,300})\n", re.IGNORECASE)
_ATX: Final = re.compile(r"^#[ \t]+(.{1,300}?)[ \t]*#*$", re.MULTILINE)
_SETEXT: Final = re.compile(r"^(\S.{0,300})\n={3,}[ \t]*$", re.MULTILINE)


def _normalise(text: str) -> str:
    return _NUL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def _heading(text: str) -> str:
    """Return the title in the front matter, or the first heading of level 1 near the beginning."""
    start = text[:5000]
    if matter := _FRONT_MATTER.match(start):
        return matter[1].strip(" \"'\t")
    found = [match for match in (_ATX.search(start), _SETEXT.search(start)) if match]
    return min(found, key=lambda match: match.start())[1].strip() if found else ""


_LANGUAGES: Final = {
    "css": "css",
    "javascript": "javascript",
    "ecmascript": "javascript",
    "x-javascript": "javascript",
    "x-python": "python",
    "x-script.python": "python",
    "yaml": "yaml",
    "x-yaml": "yaml",
    "vnd.yaml": "yaml",
    "toml": "toml",
    "x-sh": "sh",
    "x-shellscript": "sh",
    "x-c": "c",
    "x-java-source": "java",
    "x-ndjson": "json",
    "jsonl": "json",
    "typescript": "typescript",
    "x-diff": "diff",
    "x-sql": "sql",
}
_ENDINGS: Final = {
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "tsx"), "typescript"),
    **dict.fromkeys(("yml", "yaml"), "yaml"),
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cc", "cpp", "hpp"), "cpp"),
    **dict.fromkeys(("sh", "bash"), "sh"),
    **dict.fromkeys(("ndjson", "jsonl"), "json"),
    **{name: name for name in ("css", "toml", "go", "java", "sql", "diff", "ini", "lua", "swift", "php")},
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
}


def _code_language(page: Page) -> str:
    """Return the language of source code; empty for prose."""
    named = _LANGUAGES.get(page.media_type.partition("/")[2])
    ending = path_of(page.final_url).rpartition("/")[2].rpartition(".")
    return named or (_ENDINGS.get(ending[2].lower(), "") if ending[0] else "")


# Data.


def _read_json(page: Page) -> Document:
    text = _normalise(page.text).strip()
    body = text.encode("utf-8", "replace")
    outer = data.decode_outer(body)
    if outer is None:  # declared as JSON, but it is not
        return _fence(Document(ContentKind.JSON, file_name(page.final_url), "", text), "")
    if data.may_be_feed(outer) and (feed := feeds.from_json(data.decode(body))):
        return _feed_document(feed, page)
    title = data.title_of(outer) or file_name(page.final_url)
    shown = _fence(Document(ContentKind.JSON, title, "", data.indent(body, text, MAX_CHARS)), "json")
    return replace(shown, markdown=f"{data.outline(outer)}\n\n{shown.markdown}") if shown.truncated else shown


def _read_table(page: Page) -> Document:
    text = _normalise(page.text)
    document = Document(ContentKind.TABLE, file_name(page.final_url), "", text)
    table = data.table(text, page.media_type, MAX_CHARS)
    if table is None:
        return _fence(document, "")
    truncated = len(text) > MAX_CHARS or not table.complete
    return replace(document, markdown=table.markdown, text=_cut(text), truncated=truncated)


# Feeds.


def _read_feed(page: Page) -> Document:
    feed = feeds.from_xml(page.text)
    return _feed_document(feed, page) if feed else _read_xml(page)


def _feed_document(feed: Feed, page: Page) -> Document:
    shown = feeds.first_entries(feed, MAX_ENTRIES)
    addresses = Addresses(page.final_url)
    title = shown.title or file_name(page.final_url)
    links = [(entry, addresses.absolute(entry.link)) for entry in shown.entries]
    blocks = [f"# {_escape(title)}", _escape(shown.description)]
    plain = [title, shown.description]
    for entry, url in links:
        name = _entry_name(entry)
        heading = f"[{_escape(name)}]({_destination(url)})" if url else _escape(name)
        about = " · ".join(filter(None, (entry.published, entry.author)))
        blocks += [f"## {heading}", _escape(about), _escape(entry.summary)]
        plain += [name, about, entry.summary]
    document = Document(
        kind=ContentKind.FEED,
        title=title,
        markdown="\n\n".join(filter(None, blocks)),
        text="\n\n".join(filter(None, plain)),
        description=shown.description,
        published=shown.updated,
        language=shown.language,
        links=tuple(Link(url, _entry_name(entry)) for entry, url in links if url),
        truncated=not feed.complete or len(shown.entries) < len(feed.entries),
    )
    return _bound(document)


def _entry_name(entry: FeedEntry) -> str:
    return entry.title or entry.summary[:80] or entry.link or "Untitled"


_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>])")
_UNSAFE: Final = re.compile(r"[\s()<>\\]")


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _destination(url: str) -> str:
    return _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), url)


# PDF.

_NOT_A_TITLE: Final = re.compile(
    r"untitled.{0,20}|document\d*|microsoft (?:word|powerpoint) - .*|.{0,200}\.(?:docx?|pptx?|pdf|indd|tex)",
    re.IGNORECASE,
)


def _read_pdf(page: Page, recognise: Recognise | None) -> Document:
    from gossamer.web.documents.pdf.pdf import read_pdf  # only a reader that meets a PDF loads its engine

    pdf = read_pdf(page.body, recognise=recognise)
    document = Document(
        kind=ContentKind.PDF,
        title=_pdf_title(pdf) or file_name(page.final_url),
        markdown="\n\n---\n\n".join(filter(None, pdf.markdown)),
        text="\f".join(pdf.pages) if any(pdf.pages) else "",
        description=pdf.subject,
        author=pdf.author,
        published=pdf.created,
        page_count=pdf.page_count,
        truncated=not pdf.complete,
        scanned=pdf.scanned > 0,
        recognised=pdf.recognised > 0,
    )
    return _bound(document)


def _pdf_title(pdf: Pdf) -> str:
    """Return the title of the PDF, unless a program generated it; else its first line, if that can be one."""
    if pdf.title and not _NOT_A_TITLE.fullmatch(pdf.title):
        return " ".join(pdf.title.split())[:300]
    first = pdf.pages[0].strip().partition("\n")[0].strip() if pdf.pages else ""
    return first if 3 <= len(first) <= 150 else ""


# Office documents and books.


def _read_office(page: Page) -> Document:
    from gossamer.web.documents.office.office import convert_office  # the same for its formats

    converted = convert_office(page.body)
    article = extract(converted.html, page.final_url, main_content=False, cleaned=False)
    title = converted.title or _heading(article.markdown) or file_name(page.final_url)
    document = Document(
        kind=ContentKind.OFFICE,
        title=title,
        markdown=article.markdown,
        text=article.text,
        description=converted.description,
        author=converted.author,
        published=converted.created,
        language=converted.language,
        links=article.links,
        page_count=converted.page_count,
        truncated=article.cut or not converted.complete,
    )
    return _bound(document)


_READERS: Final[dict[ContentKind, Callable[[Page], Document]]] = {
    ContentKind.HTML: _read_text,
    ContentKind.TEXT: _read_text,
    ContentKind.MARKDOWN: _read_markdown,
    ContentKind.XML: _read_xml,
    ContentKind.JSON: _read_json,
    ContentKind.TABLE: _read_table,
    ContentKind.FEED: _read_feed,
    ContentKind.OFFICE: _read_office,
}
