"""A child process of the parser pool (`python -m gossamer.flows.parsers.parser_process`), and its messages.

The child knows no secrets and has nothing but a pipe. A message is the length of its body, and then a body of
one of these shapes: a task goes in, and a `ParserResult` or a `ParserRefusal` comes back. A page that takes
over its parser can therefore send back nonsense, and nothing else.
"""

import gc
import math
import os
import resource
import sys
import time
from functools import partial
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.parsers.tesseract import Tesseract
from gossamer.problems import Problem
from gossamer.reach.sandbox import allocator
from gossamer.web.audit.page.subject import Subject
from gossamer.web.audit.report import AuditReport
from gossamer.web.audit.site.site import SitePage
from gossamer.web.audit.site.site_page import Normalise, normalise, summarise
from gossamer.web.content.recurring import BlockSketch, sketch
from gossamer.web.crawl.crawl_view import outlined_text_of
from gossamer.web.crawl.parts import PageParts, take_apart
from gossamer.web.documents.kind import is_html
from gossamer.web.documents.pdf.pdf_document import Recognise
from gossamer.web.extract.extraction import Extraction, extract_data
from gossamer.web.extract.schema.schema import Json
from gossamer.web.html.links import Link
from gossamer.web.outcome.judging import judge
from gossamer.web.outcome.outcome import Judgement
from gossamer.web.pages import reading
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.render.prerender import Prerendered, prerender
from gossamer.web.robots import sitemap
from gossamer.web.robots.sitemap import Entries, SitemapEntry
from gossamer.web.search.passages import OutlinedText
from gossamer.web.sites.page_facts import PageSight, compare
from gossamer.web.sites.rule_trial import SiteRuleTrial, try_rules
from gossamer.web.sites.site_rule import SiteRule

LENGTH_BYTES: Final = 4  # of the length before each message
_LINKS_ALONE: Final = ReadingOptions(main_content=False, markdown=False, html=False, max_text=0)
RECOGNISING_SHARE: Final = 0.8  # of a task's time, after which no more text is recognised
GC_THRESHOLDS: Final = (10_000, 20, 20)  # a page is many objects, and leaves no cycles behind
MAX_RESULT_BYTES: Final = 24 * 1024**2  # the parent decodes a result while other requests wait


class Prepared(Struct, frozen=True):
    """A rendered page, ready to be served."""

    served: Prerendered
    judgement: Judgement


class AuditedPage(Struct, frozen=True):
    """The audit of one page, and what an audit of its site needs to know of it."""

    is_html: bool
    report: AuditReport
    summary: SitePage


# Tasks. `run` raises `Problem` for a page that cannot be parsed.


class ReadTask(msgspec.Struct, array_like=True, tag=True):
    page: Page
    options: ReadingOptions

    def run(self, recognise: Recognise | None = None) -> Reading:
        return reading.read(self.page, self.options, recognise)


class PrepareTask(msgspec.Struct, array_like=True, tag=True):
    page: Page
    keep_scripts: bool

    def run(self) -> Prepared:
        html = prerender(self.page.text, self.page.final_url, keep_scripts=self.keep_scripts)
        return Prepared(html, judge(self.page))


class ExtractTask(msgspec.Struct, array_like=True, tag=True):
    page: Page
    schema: Json
    with_text: bool

    def run(self, recognise: Recognise | None = None) -> Extraction:
        return extract_data(self.page, self.schema, with_text=self.with_text, recognise=recognise)


class TakeApartTask(msgspec.Struct, array_like=True, tag=True):
    page: Page
    agent: str
    max_links: int

    def run(self) -> PageParts:
        return take_apart(self.page, agent=self.agent, max_links=self.max_links)


class SitemapTask(msgspec.Struct, array_like=True, tag=True):
    page: Page

    def run(self) -> Entries:
        """The addresses of a sitemap, and when they change; without anything else that it says about them."""
        found = sitemap.read(self.page.body)
        entries = tuple(
            SitemapEntry(entry.url, entry.modified, frequency=entry.frequency) for entry in found.entries
        )
        return Entries(entries, found.is_index, found.problem)


class TextTask(msgspec.Struct, array_like=True, tag=True):
    page: Page

    def run(self) -> OutlinedText:
        return outlined_text_of(self.page)


class LinksTask(msgspec.Struct, array_like=True, tag=True):
    page: Page

    def run(self) -> tuple[Link, ...]:
        return reading.read(self.page, _LINKS_ALONE).links


class SketchTask(msgspec.Struct, array_like=True, tag=True):
    page: Page

    def run(self) -> BlockSketch:
        """The blocks of a page; of anything but HTML, none."""
        page = self.page
        return sketch(page.text) if is_html(page.media_type, page.body, page.final_url) else {}


class AuditTask(msgspec.Struct, array_like=True, tag=True):
    subject: Subject

    @property
    def page(self) -> Page:
        return self.subject.page

    def run(self, normal: Normalise = normalise) -> AuditedPage:
        from gossamer.web.audit.audit import audit_page  # all checks, of which most processes need none

        subject = self.subject
        return AuditedPage(subject.is_html, audit_page(subject), summarise(subject, normal))


class TryRulesTask(msgspec.Struct, array_like=True, tag=True):
    page: Page
    rules: tuple[SiteRule, ...]
    home: str

    def run(self) -> SiteRuleTrial:
        return try_rules(self.page, self.rules, self.home)


class CompareTask(msgspec.Struct, array_like=True, tag=True):
    page: Page
    rendered: Page

    def run(self) -> PageSight:
        return compare(self.page, self.rendered)


Task = (
    ReadTask
    | PrepareTask
    | ExtractTask
    | TakeApartTask
    | SitemapTask
    | TextTask
    | LinksTask
    | SketchTask
    | AuditTask
    | TryRulesTask
    | CompareTask
)


# Results.


class ParserResult(msgspec.Struct, array_like=True, tag=True):
    """What `run` returned. The parent decodes it as the type that it asked for."""

    value: Any


class ParserRefusal(msgspec.Struct, array_like=True, tag=True):
    """A problem that `run` raised."""

    name: str
    detail: str
    hint: str | None
    details: dict[str, str | int | None]


def serve(source: BinaryIO, sink: BinaryIO, seconds: float, engine: Tesseract | None) -> None:
    while head := source.read(LENGTH_BYTES):
        _end_after(seconds)
        until = time.monotonic() + seconds * RECOGNISING_SHARE
        recognise = partial(engine.recognise, until=until) if engine else None
        task = msgspec.msgpack.decode(source.read(int.from_bytes(head)), type=Task)
        answer = _answer(task, recognise)
        del task
        sink.write(len(answer).to_bytes(LENGTH_BYTES) + answer)
        sink.flush()


def _answer(task: Task, recognise: Recognise | None) -> bytes:
    try:
        value = task.run(recognise) if isinstance(task, ReadTask | ExtractTask) else task.run()
        answer = msgspec.msgpack.encode(ParserResult(value))
    except Problem as problem:
        return _encode_refusal(problem)
    except MemoryError:
        return _encode_refusal(_out_of_memory(task.page))
    return answer if len(answer) <= MAX_RESULT_BYTES else _encode_refusal(_too_long(len(answer)))


def _encode_refusal(problem: Problem) -> bytes:
    refusal = ParserRefusal(problem.kind.name, problem.detail, problem.hint, dict(problem.details))
    return msgspec.msgpack.encode(refusal)


def _out_of_memory(page: Page) -> Problem:
    return Problem(
        problems.CONTENT_UNREADABLE,
        "The target's answer takes too much memory to read.",
        details={"url": page.final_url, "reason": "unreadable_content", "mediaType": page.media_type},
    )


def _too_long(length: int) -> Problem:
    return Problem(
        problems.CONTENT_TOO_LARGE,
        f"What was read has {length:,} bytes; {MAX_RESULT_BYTES:,} are allowed.",
        hint="Ask for fewer formats, or for a part of the page, by `include` or `mainContent`.",
        details={"reason": "answer_too_large", "maxBytes": MAX_RESULT_BYTES},
    )


def _end_after(seconds: float) -> None:
    """Bound the CPU time from here on, in case the parent is gone and cannot kill this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main(memory: int, seconds: float, tesseract: str) -> None:
    # A limit on data, not on address space: libraries reserve much of that and never use it.
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    allocator.return_large_blocks()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    gc.freeze()  # what was imported stays: collections need not look at it
    gc.set_threshold(*GC_THRESHOLDS)
    engine = Tesseract(tesseract) if tesseract else None
    serve(sys.stdin.buffer, sys.stdout.buffer, seconds, engine)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
