"""Heavy pages: what it costs that a page is parsed in a process of its own, beside pages parsed in place.

Pages of documentation that is installed are read, and taken apart as a crawl does. CPU is that of this
process and of the parser's, the best of several rounds, without the start of either. The garbage collector is
set alike in both. A page leaves the process if it could hold up other requests. The last row of each kind has
the same pages in place, so its distance from the row before is the price of leaving.
"""

import argparse
import asyncio
import gc
import resource
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from time import process_time
from typing import Any, Final

from bench.table import save, table, this_machine
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.parsers.parser_process import GC_THRESHOLDS
from gossamer.web.crawl.parts import is_quick, take_apart
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import read
from gossamer.web.pages.reading_options import ReadingOptions

SITES: Final = ("/usr/share/doc/python3*-doc/html", "/usr/share/doc/openjdk-17-doc/api")
AGENT: Final = "Gossamer"
MAX_LINKS: Final = 1_000
COLUMNS: Final = ("", "pages", "kB", "tags", "CPU ms per page", "µs per tag")
_OPTIONS: Final = ReadingOptions()

Parse = Callable[[ParserPool, Page], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    pages: Sequence[Page]
    parse: Parse


async def _read(pool: ParserPool, page: Page) -> None:
    await pool.read(page, _OPTIONS)


async def _read_here(_: ParserPool, page: Page) -> None:
    read(page, _OPTIONS)


async def _take_apart(pool: ParserPool, page: Page) -> None:
    if is_quick(page):
        await _take_apart_here(pool, page)
    else:
        await pool.take_apart(page, agent=AGENT, max_links=MAX_LINKS)


async def _take_apart_here(_: ParserPool, page: Page) -> None:
    take_apart(page, agent=AGENT, max_links=MAX_LINKS)


def main() -> None:
    options = _options()
    folders = sorted({Path(found).resolve() for place in SITES for found in glob(place)})
    pages = [page for folder in folders for page in _pages(folder, options.pages)]
    if not pages:
        raise SystemExit("bench: please install python3-doc or openjdk-17-doc first")
    pool = ParserPool(1)
    read_here, read_there = _divide(pages, lambda page: pool.reads_in_place(page, _OPTIONS))
    seen_here, seen_there = _divide(pages, is_quick)
    rows = [
        Row("read, light", read_here, _read),
        Row("read, heavy", read_there, _read),
        Row("read, heavy, in place", read_there, _read_here),
        Row("crawled, light", seen_here, _take_apart),
        Row("crawled, heavy", seen_there, _take_apart),
        Row("crawled, heavy, in place", seen_there, _take_apart_here),
    ]
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    documents = [_measure(row, options.rounds) for row in rows if row.pages]
    machine = this_machine()
    text = f"# Heavy pages\n\n{machine}; {len(pages)} pages, the best of {options.rounds} rounds\n\n"
    text += table(COLUMNS, [list(map(str, document.values())) for document in documents])
    print(text)
    save("heavy", machine, text, {"rows": documents})


def _measure(row: Row, rounds: int) -> dict[str, Any]:
    started = min(_spend(row.parse, ()) for _ in range(rounds))
    spent = min(_spend(row.parse, row.pages) for _ in range(rounds)) - started
    tags = sum(page.body.count(b"<") for page in row.pages)
    count = len(row.pages)
    return {
        "name": row.name,
        "pages": count,
        "kb": round(sum(len(page.body) for page in row.pages) / count / 1000, 1),
        "tags": round(tags / count),
        "ms_per_page": round(spent / count * 1000, 2),
        "us_per_tag": round(spent / tags * 1_000_000, 2),
    }


def _spend(parse: Parse, pages: Sequence[Page]) -> float:
    """CPU seconds of parsing the pages, and of a parser process that was started for it."""
    before, started = _children(), process_time()
    asyncio.run(_parse_all(parse, pages))
    return process_time() - started + _children() - before


async def _parse_all(parse: Parse, pages: Sequence[Page]) -> None:
    pool = ParserPool(1)
    try:
        await pool.find_links(
            _page("start", b"<p>start</p>")
        )  # always in a child, which is there from now on
        for page in pages:
            await parse(pool, _page(page.url, page.body))  # a page remembers what it was decoded to
    finally:
        await pool.close()


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _divide(pages: Sequence[Page], in_place: Callable[[Page], bool]) -> tuple[list[Page], list[Page]]:
    divided: tuple[list[Page], list[Page]] = ([], [])
    for page in pages:
        divided[not in_place(page)].append(page)
    return divided


def _pages(folder: Path, most: int) -> list[Page]:
    files = sorted(folder.rglob("*.html"))
    return [_page(f"https://docs.test/{at}", file.read_bytes()) for at, file in _sample(files, most)]


def _sample(files: Sequence[Path], most: int) -> list[tuple[int, Path]]:
    return list(enumerate(files))[:: max(len(files) // most, 1)]


def _page(url: str, body: bytes) -> Page:
    return Page(
        url=url,
        final_url=url,
        status=200,
        headers=(),
        body=body,
        media_type="text/html",
        charset="utf-8",
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench heavy", description=__doc__)
    parser.add_argument("--pages", type=int, default=120, help="pages of each site, about")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
