"""Retrieval: plain questions about three manuals, and how often the right page is among the first three.

The pages of python3-doc, git-doc and postgresql-doc are indexed by Gossamer on both databases, and by what
the databases offer themselves: FTS5 with Porter's stems and bm25(), and PostgreSQL's English configuration
with ts_rank. With `--model local:…`, there is a row for words and meaning together. The questions are in
`retrieval_questions`: two sets for tuning, and a blind one for judging. What is right is counted twice: by
the pages that were written with each question, and by judgements of all that the contenders found first
(`retrieval_pool`).
"""

import argparse
import asyncio
import io
import re
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from time import process_time
from typing import Any, Final

from sqlalchemy import text as sql
from tests.servers.postgres import PostgresServer

from bench.remembered_model import RememberedModel
from bench.retrieval_pool import pool, read_judgements, write_pool
from bench.retrieval_questions import FURTHER, JUDGING, TUNING, UNTOUCHED, Asked
from bench.search_scale import flush
from bench.table import save, table, this_machine
from gossamer.flows.embeddings.embedding_indexer import EmbeddingIndexer
from gossamer.flows.embeddings.embedding_source import EmbeddingSource
from gossamer.observe.logs import Log
from gossamer.reach.models.local_model import LocalModel
from gossamer.reach.models.model_files import find_model
from gossamer.state.db.database import Database, open_database
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.search.search_vectors import SearchVectors
from gossamer.web.crawl.crawl_view import outlined_text_of, view_page
from gossamer.web.pages.page import Page
from gossamer.web.search.question import Question

DOCUMENTATION: Final = Path("/usr/share/doc")
MANUALS: Final = {
    "python": "python3*-doc/html",
    "git": "git-doc",
    "postgresql": "postgresql-doc-*/html",
}
LEFT_OUT: Final = re.compile(r"genindex|py-modindex|search\.html|bookindex|contents\.html|release")
SITE: Final = "https://docs.example/"
LIMIT: Final = 10
DEFAULT_SIMILARITY: Final = 0.3
TENANT: Final = "01HZZZZZZZZZZZZZZZZZZZZZZA"
Ask = Callable[[str], Awaitable[list[str]]]
Truth = Callable[[Asked], Collection[str]]  # the right pages of a question
SETS: Final = {"judging": JUDGING, "untouched": UNTOUCHED, "tuning": TUNING, "further": FURTHER}
JUDGED: Final = read_judgements()


def written_pages(asked: Asked) -> Collection[str]:
    return asked.pages


def judged_pages(asked: Asked) -> Collection[str]:
    return [page for page, helps in JUDGED.get(asked.question, {}).items() if helps]


TRUTHS: Final[Mapping[str, Truth]] = {"written": written_pages, "judged": judged_pages}
TRUTH_NAMES: Final = {
    "written": "Right pages as written with the questions",
    "judged": "Pages that help, by the judgements of the pool",
}


@dataclass(frozen=True, slots=True)
class Result:
    """How one contender has answered."""

    name: str
    found: dict[str, list[str]]  # the first ten pages, by question
    milliseconds: list[float]  # of CPU, in this process
    pages_per_second: float
    kilobytes: float  # of a page in the database

    def place(self, asked: Asked, truth: Truth) -> int | None:
        """Where the first right page stands; None: not among the first ten."""
        right = truth(asked)
        return next((at for at, page in enumerate(self.found[asked.question], 1) if page in right), None)

    def share(self, asked: Sequence[Asked], truth: Truth, most: int) -> float:
        return mean((self.place(one, truth) or 99) <= most for one in asked)

    @property
    def unjudged(self) -> int:
        """Pages among the first three that nobody has judged."""
        return sum(
            page not in JUDGED.get(asked, ()) for asked, pages in self.found.items() for page in pages[:3]
        )

    def reciprocal_rank(self, asked: Sequence[Asked], truth: Truth) -> float:
        return mean(1 / (self.place(one, truth) or 10**9) for one in asked)


def main() -> None:
    options = _options()
    documents = list(read_manuals())
    if len(documents) < 1_000:
        sys.exit("bench: please install python3-doc, git-doc and postgresql-doc first")
    results = asyncio.run(_run(documents, options.postgres, options.model))
    if options.pool:
        waiting = pool([one.found for one in results], JUDGED)
        by_page = {one.url.removeprefix(SITE): one for one in documents}
        options.pool.write_text(write_pool(waiting, by_page))
    if options.show:
        _show(results[0])
    machine = this_machine()
    text = report(str(machine), documents, results)
    print(text)
    if not options.dry:
        save("retrieval", machine, text, document(results))


def read_manuals() -> list[IndexedDocument]:
    documents = []
    for manual, pattern in MANUALS.items():
        for root in sorted(DOCUMENTATION.glob(pattern))[:1]:
            for path in sorted(root.rglob("*.html")):
                if not LEFT_OUT.search(path.name):
                    url = f"{SITE}{manual}/{path.relative_to(root)}"
                    documents.append(_document(url, path.read_bytes()))
    return documents


def _document(url: str, body: bytes) -> IndexedDocument:
    page = Page(
        url=url, final_url=url, status=200, headers=(), body=body, media_type="text/html", charset="utf-8"
    )
    seen, text = view_page(page), outlined_text_of(page)
    return IndexedDocument(
        url=url,
        title=seen.title,
        description=seen.description,
        text=text.text,
        headings=text.headings,
        language=seen.language,
        seen_at=1_800_000_000.0,
    )


async def _run(documents: Sequence[IndexedDocument], with_postgres: bool, model: str) -> list[Result]:
    results = []
    with tempfile.TemporaryDirectory() as folder:
        results.append(await _gossamer("Gossamer, SQLite", f"{folder}/gossamer.db", documents))
        if model:
            results.append(await _hybrid(f"{folder}/gossamer.db", model, len(documents)))
        results.append(await _fts5(Path(folder) / "fts5.db", documents))
        if with_postgres:
            server = PostgresServer()
            try:
                server.start()
                url = server.create_database("template1")
                results.insert(1, await _gossamer("Gossamer, PostgreSQL", url, documents))
                results += await _tsvector(url, documents)
            finally:
                server.remove()
    return results


async def _measure(
    name: str, ask: Ask, pages: int, seconds: float, size: int, cpu: Callable[[], float] = process_time
) -> Result:
    found: dict[str, list[str]] = {}
    times = []
    for asked in (*TUNING, *FURTHER, *JUDGING):
        await ask(asked.question)  # once before, so that caches are warm
        started = cpu()
        urls = await ask(asked.question)
        times.append((cpu() - started) * 1000)
        found[asked.question] = [url.removeprefix(SITE) for url in urls]
    return Result(name, found, times, pages / seconds, size / pages / 1000)


async def _gossamer(name: str, url: str, documents: Sequence[IndexedDocument]) -> Result:
    database = open_database(url)
    await database.migrate()
    index = SearchIndex(database, Log(io.StringIO()), max_pages=1_000_000)
    started = process_time()
    for one in documents:
        index.note(TENANT, one)
    await flush(index)
    seconds = process_time() - started

    async def ask(question: str) -> list[str]:
        matches = await index.search(TENANT, Question.parse(question, limit=LIMIT))
        return [match.url for match in matches.found]

    result = await _measure(name, ask, len(documents), seconds, await _size(database, url))
    await database.close()
    return result


async def _hybrid(url: str, name: str, pages: int) -> Result:
    """Words and meaning, on the index that is there. What it costs to embed pages is not measured: their
    vectors may be remembered."""
    database = open_database(url)
    log = Log(io.StringIO())
    index = SearchIndex(database, log, max_pages=1_000_000)
    model = RememberedModel(LocalModel(find_model(name)))
    vectors = SearchVectors(database)
    source = EmbeddingSource(model, vectors, DEFAULT_SIMILARITY)
    await EmbeddingIndexer("bench", model, vectors, database, log).embed_waiting()

    async def ask(text: str) -> list[str]:
        question = Question.parse(text, limit=LIMIT)
        found = await source.find(TENANT, question, asyncio.Future())
        source._remembered.clear()  # so that every question is embedded
        matches = await index.search(TENANT, question, found.near)
        return [match.url for match in matches.found]

    size = await _size(database, url)
    result = await _measure("Gossamer, SQLite, with a model", ask, pages, 1e9, size)
    await model.close()
    await database.close()
    return result


async def _size(database: Database, url: str) -> int:
    if database.dialect == "sqlite":
        async with database.read() as connection:
            query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            return int(await connection.scalar(sql(query)) or 0)
    async with database.read() as connection:
        names = ("search_pages", "search_words", "search_weights", "search_lexicon")
        sizes = [await connection.scalar(sql(f"SELECT pg_total_relation_size('{name}')")) for name in names]
        return sum(sizes)


async def _fts5(path: Path, documents: Sequence[IndexedDocument]) -> Result:
    """Any of the words, because few pages have all words of a plain question."""
    database = sqlite3.connect(path)
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, body, tokenize='porter')")
    started = process_time()
    rows = [(one.url, one.title, one.text) for one in documents]
    database.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)
    database.commit()
    seconds = process_time() - started

    async def ask(question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        sought = "SELECT url FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 10, 1) LIMIT ?"
        return [url for (url,) in database.execute(sought, (words, LIMIT))]

    return await _measure("FTS5, porter, bm25, any word", ask, len(rows), seconds, path.stat().st_size)


async def _tsvector(url: str, documents: Sequence[IndexedDocument]) -> list[Result]:
    import asyncpg

    connection: Any = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE plain (url text, words tsvector)")
    vector = "setweight(to_tsvector('english', $2), 'A') || to_tsvector('english', $3)"
    add = f"INSERT INTO plain SELECT $1, {vector}"
    await connection.executemany(add, [(one.url, one.title, one.text[:900_000]) for one in documents])
    await connection.execute("CREATE INDEX ON plain USING gin (words)")
    size = await connection.fetchval("SELECT pg_total_relation_size('plain')")
    results = []
    for parser in ("websearch_to_tsquery", "plainto_tsquery"):
        sought = (
            f"SELECT url FROM plain, {parser}('english', $1) AS sought WHERE words @@ sought"
            " ORDER BY ts_rank(words, sought) DESC LIMIT $2"
        )

        async def ask(question: str, sought: str = sought) -> list[str]:
            return [row["url"] for row in await connection.fetch(sought, question, LIMIT)]

        results.append(await _measure(f"PostgreSQL, {parser}, ts_rank", ask, len(documents), 1e9, size))
    await connection.close()
    return results


def report(machine: str, documents: Sequence[IndexedDocument], results: Sequence[Result]) -> str:
    head = (
        f"{len(documents):,} pages, {len(JUDGING)} questions for judging and {len(TUNING) + len(FURTHER)} "
        f"for tuning, {machine}. CPU is the median of this process for one search; "
        f"PostgreSQL's own is not in it. Untouched are the {len(UNTOUCHED)} questions for judging "
        "that share no right page with one for tuning, as written."
    )
    parts = [head]
    for name, truth in TRUTHS.items():
        parts += [f"{TRUTH_NAMES[name]}:", _shares(results, truth)]
    unjudged = sum(one.unjudged for one in results)
    parts.append(f"Pages among the first three that nobody has judged: {unjudged}.")
    parts.append(_costs(results))
    speed = "; ".join(
        f"{one.name} {one.pages_per_second:,.0f}" for one in results if one.pages_per_second > 1
    )
    return "\n\n".join([*parts, f"Indexed pages a second of CPU in this process: {speed}."])


def _shares(results: Sequence[Result], truth: Truth) -> str:
    columns = [
        "index",
        *(f"top 3, {name}" for name in SETS),
        "MRR, judging",
        "first, judging",
        "top 10, judging",
    ]
    rows = [
        [
            one.name,
            *(f"{one.share(asked, truth, 3):.2f}" for asked in SETS.values()),
            f"{one.reciprocal_rank(JUDGING, truth):.2f}",
            f"{one.share(JUDGING, truth, 1):.2f}",
            f"{one.share(JUDGING, truth, 10):.2f}",
        ]
        for one in results
    ]
    return table(columns, rows)


def _costs(results: Sequence[Result]) -> str:
    rows = [[one.name, f"{median(one.milliseconds):.1f}", f"{one.kilobytes:.1f}"] for one in results]
    return table(["index", "CPU ms", "kB a page"], rows)


def document(results: Sequence[Result]) -> dict[str, Any]:
    return {
        one.name: {
            "top3": {
                name: {kind: one.share(asked, truth, 3) for kind, asked in SETS.items()}
                for name, truth in TRUTHS.items()
            },
            "cpu_ms": median(one.milliseconds),
            "kilobytes_per_page": one.kilobytes,
            "places": {
                name: {asked.question: one.place(asked, truth) for asked in (*TUNING, *FURTHER)}
                for name, truth in TRUTHS.items()
            },
        }
        for one in results
    }


def _show(result: Result) -> None:
    """The tuning questions that were not answered, by the judgements of the pool."""
    for asked in (*TUNING, *FURTHER):
        place = result.place(asked, judged_pages)
        if (place or 99) > 3:
            print(place, asked.question)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-postgres", dest="postgres", action="store_false", help="only SQLite")
    parser.add_argument("--model", default="", metavar="local:PLACE", help="words and meaning too")
    parser.add_argument("--show", action="store_true", help="list the tuning questions without an answer")
    parser.add_argument("--pool", type=Path, metavar="FILE", help="write the pages that nobody has judged")
    parser.add_argument("--dry", action="store_true", help="do not save the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
