"""Reading: the content of a page, whatever its format."""

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.web.content.article import extract
from gossamer.web.content.brief import Brief
from gossamer.web.content.content_warning import ContentWarning
from gossamer.web.content.section_picker import brief_of
from gossamer.web.documents import documents
from gossamer.web.documents.kind import ContentKind, kind_of
from gossamer.web.documents.pdf.pdf_document import Recognise
from gossamer.web.html.links import Link
from gossamer.web.html.metadata import Metadata
from gossamer.web.html.resources import Resource
from gossamer.web.outcome.judging import judge
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.outcome.page_view import ARTICLE
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.search.passages import TextHeading

FEW_WORDS: Final = 100  # of doubtful content; with more, a page is hardly a shell
_NO_TEXT: Final = Judgement(Outcome.EMPTY, "no_text")
_SCANNED: Final = Judgement(Outcome.EMPTY, "scanned")


class Reading(Struct, frozen=True):
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
    recognised: bool = False  # some of the text was recognised in pictures
    confidence: float | None = None  # that this is all of the main content, from 0 to 1; None: unknown
    warning: ContentWarning | None = None
    scripted: bool = False  # scripts make a part of the page
    brief: Brief | None = None
    cut: bool = False  # something went over a bound and is missing, or has lost its structure
    raw_html: str | None = None  # the page as it came, decoded
    headings: tuple[TextHeading, ...] = ()  # in `text`; documents have none

    @property
    def fallback(self) -> bool:
        """Whether too little was recognised as the main content, so that this is the whole page."""
        return self.warning is ContentWarning.WHOLE_PAGE

    @property
    def needs_browser(self) -> bool:
        """Whether a browser would probably see more of the page."""
        if self.judgement.reason == "script_needed":
            return True
        return self.scripted and self.warning is not None and self.words < FEW_WORDS

    @property
    def images(self) -> tuple[str, ...]:
        """The addresses of the images that the page shows."""
        return tuple(resource.url for resource in self.resources if resource.kind == "image")


def read(page: Page, options: ReadingOptions, recognise: Recognise | None = None) -> Reading:
    """Raises `Problem` for a page that cannot be read, and nothing else. Scanned pages go to `recognise`."""
    kind = kind_of(page.media_type, page.body, documents.path_of(page.final_url))
    is_page = kind is ContentKind.HTML
    reading = _read_html(page, options) if is_page else _read_document(page, options, recognise)
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
        memory=options.memory,
    )
    return Reading(
        kind=ContentKind.HTML,
        title=article.title,
        markdown=article.markdown,
        text=article.text,
        headings=article.headings,
        judgement=judge(page, title=article.title, text=article.text, enough=ARTICLE),
        html=article.html,
        metadata=article.metadata,
        links=article.links,
        resources=article.resources,
        words=article.words,
        brief=_brief(article.markdown, page, options),
        confidence=article.confidence,
        warning=article.warning,
        scripted=article.scripted,
        cut=article.cut,
    )


def _read_document(page: Page, options: ReadingOptions, recognise: Recognise | None) -> Reading:
    document = documents.read(page, recognise)
    judgement = judge(page)
    if judgement.outcome is Outcome.OK and not document.text.strip():
        judgement = _SCANNED if document.scanned else _NO_TEXT
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
        recognised=document.recognised,
        brief=_brief(document.markdown, page, options),
        cut=document.truncated,
    )


def _brief(markdown: str, page: Page, options: ReadingOptions) -> Brief | None:
    if options.max_tokens is None:
        return None
    return brief_of(markdown, page.final_url, options.max_tokens, options.query)
