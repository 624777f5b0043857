"""Workbench: the child process of a workshop (`python -m gossamer.flows.workbench`), and what is said to it.

It knows no secrets and has nothing but a pipe: each message is the length of what follows, and then data of
one of these shapes. Whoever takes over a child by what a page makes of its parser can answer nonsense, and
nothing else.
"""

import math
import os
import resource
import sys
from dataclasses import dataclass
from typing import BinaryIO, Final

import msgspec

from gossamer.problems import Problem
from gossamer.web import reading, sitemap
from gossamer.web.audit import Report, Subject, audit
from gossamer.web.glance import text_of
from gossamer.web.outcome import Judgement, judge
from gossamer.web.page import Page
from gossamer.web.parts import Parts, take_apart
from gossamer.web.prerender import Prerendered, prerender
from gossamer.web.reading import How, Reading
from gossamer.web.site_checks.sight import Form, seen
from gossamer.web.site_checks.site import SitePage
from gossamer.web.sitemap import Entries, Entry
from gossamer.web.structured.harvest import Harvest, harvest
from gossamer.web.structured.schema import Json

LENGTH: Final = 4  # bytes before each message


@dataclass(frozen=True, slots=True)
class Prepared:
    """A rendered page as it is to be served, and what it is."""

    served: Prerendered
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Audited:
    report: Report
    sight: SitePage  # of the page as one of its site


class ToRead(msgspec.Struct, array_like=True, tag=True):
    page: Page
    how: How


class ToPrepare(msgspec.Struct, array_like=True, tag=True):
    page: Page
    keep_scripts: bool


class ToHarvest(msgspec.Struct, array_like=True, tag=True):
    page: Page
    schema: Json
    with_text: bool


class ToTakeApart(msgspec.Struct, array_like=True, tag=True):
    page: Page
    agent: str
    most_links: int


class ToList(msgspec.Struct, array_like=True, tag=True):
    page: Page


class ToTell(msgspec.Struct, array_like=True, tag=True):
    page: Page


class ToAudit(msgspec.Struct, array_like=True, tag=True):
    subject: Subject

    @property
    def page(self) -> Page:
        return self.subject.page


Work = ToRead | ToPrepare | ToHarvest | ToTakeApart | ToList | ToTell | ToAudit


class Refusal(msgspec.Struct, array_like=True, tag=True):
    """A problem on its way through the pipe."""

    name: str
    detail: str
    hint: str | None
    details: dict[str, str | int | None]


class WasRead(msgspec.Struct, array_like=True, tag=True):
    made: Reading


class WasPrepared(msgspec.Struct, array_like=True, tag=True):
    made: Prepared


class WasHarvested(msgspec.Struct, array_like=True, tag=True):
    made: Harvest


class WasTakenApart(msgspec.Struct, array_like=True, tag=True):
    made: Parts


class WasListed(msgspec.Struct, array_like=True, tag=True):
    made: Entries


class WasTold(msgspec.Struct, array_like=True, tag=True):
    made: str


class WasAudited(msgspec.Struct, array_like=True, tag=True):
    made: Audited


Done = WasRead | WasPrepared | WasHarvested | WasTakenApart | WasListed | WasTold | WasAudited
Result = Done | Refusal


def prepared(page: Page, *, keep_scripts: bool) -> Prepared:
    return Prepared(prerender(page.text, page.final_url, keep_scripts=keep_scripts), judge(page))


def audited(subject: Subject, form: Form | None = None) -> Audited:
    return Audited(audit(subject), seen(subject, form))


def listed(body: bytes) -> Entries:
    """The addresses of a sitemap, without what else it says of them."""
    entries = sitemap.read(body)
    return Entries(tuple(Entry(one.url) for one in entries.entries), entries.is_index, entries.problem)


def serve(source: BinaryIO, sink: BinaryIO, seconds: float) -> None:
    while head := source.read(LENGTH):
        _end_after(seconds)
        work = msgspec.msgpack.decode(source.read(int.from_bytes(head)), type=Work)
        answer = msgspec.msgpack.encode(_result(work))
        sink.write(len(answer).to_bytes(LENGTH) + answer)
        sink.flush()


def _result(work: Work) -> Result:
    try:
        return _done(work)
    except Problem as problem:
        return Refusal(problem.kind.name, problem.detail, problem.hint, problem.members.get("details") or {})


def _done(work: Work) -> Done:
    match work:
        case ToRead(page, how):
            return WasRead(reading.read(page, how))
        case ToPrepare(page, keep_scripts):
            return WasPrepared(prepared(page, keep_scripts=keep_scripts))
        case ToHarvest(page, schema, with_text):
            return WasHarvested(harvest(page, schema, with_text=with_text))
        case ToTakeApart(page, agent, most_links):
            return WasTakenApart(take_apart(page, agent=agent, most_links=most_links))
        case ToList(page):
            return WasListed(listed(page.body))
        case ToTell(page):
            return WasTold(text_of(page))
        case ToAudit(subject):
            return WasAudited(audited(subject))


def _end_after(seconds: float) -> None:
    """Of CPU time, from here: should nobody be left to kill us, the system does."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main(memory: int, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    serve(sys.stdin.buffer, sys.stdout.buffer, seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
