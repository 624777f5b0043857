"""Passages for a question: crawls a site, searches the index, and prints passages with their sources.

What it prints can be given to any language model as context. Pages that were crawled once stay in the index:
with --pages 0 it only searches.

    export GOSSAMER_SERVER=http://127.0.0.1:8080 GOSSAMER_KEY=sk_live_…
    python site_rag.py https://docs.example.com/ "How are keys rotated?" --pages 200
"""

import argparse
import asyncio
import os
import re
import sys
from urllib.parse import urlsplit

import gossamer

INDEX_SECONDS = 20  # the index takes up crawled pages some seconds after they are stored


async def main(site: str, question: str, pages: int) -> int:
    server = os.environ.get("GOSSAMER_SERVER", "http://127.0.0.1:8080")
    async with gossamer.connect(server, key=os.environ.get("GOSSAMER_KEY")) as web:
        if pages:
            print(f"{await crawl(web, site, pages)} pages crawled", file=sys.stderr)
        found = await search(web, question, urlsplit(site).hostname or site, patient=pages > 0)
        for number, url in enumerate(found, 1):
            page = await web.fetch(url, cache=True)
            print(f"[{number}] {page.title}\n    {page.final_url}\n")
            print(best_passage(page.content or "", question), end="\n\n")
    return 0 if found else 1


async def crawl(web: gossamer.Client, site: str, pages: int) -> int:
    read = 0
    async with web.crawl(site, max_pages=pages) as run:
        async for page in run:
            read += page.outcome == "ok"
    return read


async def search(web: gossamer.Client, question: str, host: str, *, patient: bool) -> list[str]:
    """The addresses of the best pages: those with the most words of the question."""
    query = " OR ".join(sorted(words(question)))
    for _ in range(INDEX_SECONDS if patient else 1):
        found = await web.search(query, site=host, limit=3)
        if found.results:
            return [result.url for result in found.results]
        await asyncio.sleep(1)
    return []


def best_passage(markdown: str, question: str, length: int = 1_200) -> str:
    """The part of the page with the most words of the question."""
    passages = [""]
    for paragraph in re.split(r"\n{2,}", markdown):
        if len(passages[-1]) + len(paragraph) > length:
            passages.append("")
        passages[-1] += f"{paragraph}\n\n"
    asked = words(question)
    return max(passages, key=lambda passage: len(asked & words(passage))).strip()


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("site")
    parser.add_argument("question")
    parser.add_argument("--pages", type=int, default=50, help="the most pages to crawl")
    given = parser.parse_args()
    try:
        sys.exit(asyncio.run(main(given.site, given.question, given.pages)))
    except gossamer.GossamerError as error:  # such as a server that is away
        sys.exit(str(error))
