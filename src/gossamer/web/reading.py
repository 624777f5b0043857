"""Reading: a page as what it says, whatever it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gossamer.web import documents
from gossamer.web.brief import Brief, brief_of
from gossamer.web.extract import extract
from gossamer.web.kind import Kind, kind_of
from gossamer.web.links import Link
from gossamer.web.metadata import Metadata
from gossamer.web.outcome import Judgement, Outcome, judge
from gossamer.web.page import Page

_NO_TEXT: Final = Judgement(Outcome.EMPTY, "no_text")


@dataclass(frozen=True, slots=True)
class How:
    """What of a page is wanted."""

    main_content: bool = True
    include: Sequence[str] = ()  # CSS selectors
    exclude: Sequence[str] = ()
    max_tokens: int | None = None  # of the brief; None: there need not be one


@dataclass(frozen=True, slots=True)
class Reading:
    kind: Kind
    title: str
    markdown: str
    text: str
    judgement: Judgement
    html: str = ""  # of the content, cleaned; only HTML has it
    metadata: Metadata = field(default_factory=Metadata)
    links: tuple[Link, ...] = ()
    words: int = 0
    page_count: int | None = None
    fallback: bool = False  # too little was recognised as the main content, so this is the whole page
    brief: Brief | None = None
    cut: bool = False  # something went over a bound and is missing, or has lost its structure


def read(page: Page, how: How) -> Reading:
    """Raises `Problem` for what cannot be read, and nothing else."""
    kind = kind_of(page.media_type, page.body, documents.path_of(page.final_url))
    return _read_html(page, how) if kind is Kind.HTML else _read_document(page, how)


def _read_html(page: Page, how: How) -> Reading:
    article = extract(
        page.text,
        page.final_url,
        main_content=how.main_content,
        include=how.include,
        exclude=how.exclude,
        unveil=how.max_tokens is None,
    )
    return Reading(
        kind=Kind.HTML,
        title=article.title,
        markdown=article.markdown,
        text=article.text,
        judgement=judge(page, title=article.title, text=article.text),
        html=article.html,
        metadata=article.metadata,
        links=article.links,
        words=article.words,
        brief=_brief(article.markdown, page, how),
        fallback=article.fallback,
        cut=article.cut,
    )


def _read_document(page: Page, how: How) -> Reading:
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
        brief=_brief(document.markdown, page, how),
        cut=document.truncated,
    )


def _brief(markdown: str, page: Page, how: How) -> Brief | None:
    return None if how.max_tokens is None else brief_of(markdown, page.final_url, how.max_tokens)
