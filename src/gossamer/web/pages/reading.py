"""Reading: the content of a page, whatever its format."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gossamer.web.content.article import extract
from gossamer.web.content.brief import Brief, brief_of
from gossamer.web.documents import documents
from gossamer.web.documents.kind import ContentKind, kind_of
from gossamer.web.html.links import Link
from gossamer.web.html.metadata import Metadata
from gossamer.web.html.resources import Resource
from gossamer.web.outcome.outcome import Judgement, Outcome, judge
from gossamer.web.pages.page import Page

_NO_TEXT: Final = Judgement(Outcome.EMPTY, "no_text")


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Which parts of a page to read. The others are left out, so that no process has to carry them."""

    main_content: bool = True
    include: Sequence[str] = ()  # CSS selectors
    exclude: Sequence[str] = ()
    max_tokens: int | None = None  # of the brief; None for no brief
    resources: bool = False  # images, scripts and styles that the page loads
    max_text: int | None = None  # characters; None: all of it
    markdown: bool = True
    html: bool = True
    raw_html: bool = False
    links: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    kind: ContentKind
    title: str
    markdown: str
    text: str
    judgement: Judgement
    html: str = ""  # of the content, cleaned; only HTML has it
    metadata: Metadata = field(default_factory=Metadata)
    links: tuple[Link, ...] = ()
    resources: tuple[Resource, ...] = ()
    words: int = 0
    page_count: int | None = None
    fallback: bool = False  # too little was recognised as the main content, so this is the whole page
    brief: Brief | None = None
    cut: bool = False  # something went over a bound and is missing, or has lost its structure
    raw_html: str | None = None  # the page as it came, decoded


def read(page: Page, options: ReadingOptions) -> Reading:
    """Raises `Problem` for a page that cannot be read, and nothing else."""
    kind = kind_of(page.media_type, page.body, documents.path_of(page.final_url))
    reading = _read_html(page, options) if kind is ContentKind.HTML else _read_document(page, options)
    return replace(
        reading,
        text=reading.text[: options.max_text],
        markdown=reading.markdown if options.markdown else "",
        raw_html=page.text if options.raw_html and reading.kind is not ContentKind.PDF else None,
        links=reading.links if options.links else (),
    )


def _read_html(page: Page, options: ReadingOptions) -> Reading:
    article = extract(
        page.text,
        page.final_url,
        main_content=options.main_content,
        include=options.include,
        exclude=options.exclude,
        unveil=options.max_tokens is None,
        resources=options.resources,
        cleaned=options.html,
    )
    return Reading(
        kind=ContentKind.HTML,
        title=article.title,
        markdown=article.markdown,
        text=article.text,
        judgement=judge(page, title=article.title, text=article.text),
        html=article.html,
        metadata=article.metadata,
        links=article.links,
        resources=article.resources,
        words=article.words,
        brief=_brief(article.markdown, page, options),
        fallback=article.fallback,
        cut=article.cut,
    )


def _read_document(page: Page, options: ReadingOptions) -> Reading:
    document = documents.read(page)
    judgement = judge(page)
    if judgement.outcome is Outcome.OK and not document.text.strip():
        judgement = _NO_TEXT
    return Reading(
        kind=document.kind,
        title=document.title,
        markdown=document.markdown,
        text=document.text,
        judgement=judgement,
        metadata=Metadata(
            title=document.title,
            description=document.description or None,
            author=document.author or None,
            published_at=document.published or None,
            language=document.language or None,
        ),
        links=document.links,
        words=len(document.text.split()),
        page_count=document.page_count,
        brief=_brief(document.markdown, page, options),
        cut=document.truncated,
    )


def _brief(markdown: str, page: Page, options: ReadingOptions) -> Brief | None:
    return None if options.max_tokens is None else brief_of(markdown, page.final_url, options.max_tokens)
