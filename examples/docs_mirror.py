"""A mirror of a documentation site: finds its pages, reads them, and writes each as a markdown file.

A second run writes only what has changed, so the folder can be kept in git.

    export GOSSAMER_SERVER=http://127.0.0.1:8080 GOSSAMER_KEY=sk_live_…
    python docs_mirror.py https://docs.example.com/ mirror/ --limit 500
"""

import argparse
import asyncio
import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import gossamer

MOST_IN_A_BATCH = 1_000


async def main(site: str, folder: Path, limit: int) -> int:
    server = os.environ.get("GOSSAMER_SERVER", "http://127.0.0.1:8080")
    written = failed = 0
    async with gossamer.connect(server, key=os.environ.get("GOSSAMER_KEY")) as web:
        urls = [link.url for link in (await web.map(site, limit=limit)).links]
        for start in range(0, len(urls), MOST_IN_A_BATCH):
            async with web.batch(urls[start : start + MOST_IN_A_BATCH], formats=["markdown"]) as batch:
                async for line in batch:
                    if line.result and line.result.outcome == "ok":
                        text = f"<!-- {line.result.final_url} -->\n\n{line.result.content or ''}\n"
                        written += write(folder / file_name(line.url), text)
                        continue
                    why = line.result.outcome if line.result else line.problem and line.problem.message
                    print(f"{line.url}: {why}", file=sys.stderr)
                    failed += 1
    print(f"{len(urls)} pages, {written} files written, {failed} pages not read")
    return 0 if urls and not failed else 1


def file_name(url: str) -> Path:
    """Below the folder whatever the address says: `/a/` is `a/index.md`, and `/a?page=2` is `a-page-2.md`."""
    parts = urlsplit(url)
    *folders, last = (plain(name) for name in unquote(parts.path).split("/"))
    query = f"-{plain(parts.query)}" if parts.query else ""
    return Path(*filter(None, folders)) / f"{last or 'index'}{query}.md"


def plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")[:100]


def write(file: Path, text: str) -> bool:
    if file.exists() and file.read_text("utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("site")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=500, help="the most pages")
    given = parser.parse_args()
    try:
        sys.exit(asyncio.run(main(given.site, given.folder, given.limit)))
    except gossamer.GossamerError as error:  # such as a server that is away
        sys.exit(str(error))
