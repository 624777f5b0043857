"""Two crawls by Gossamer at once that share nothing, each of half the hosts: all that a second core of this
machine can bring."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.crawlers.gossamer import PROCESSES
from bench.crawlers.store import told


def crawl_apart(folder: Path, urls: Sequence[str]) -> None:
    halves = [urls[: len(urls) // 2], urls[len(urls) // 2 :]]
    processes = [_crawl(folder / str(number), half) for number, half in enumerate(halves)]
    endings = [process.wait() for process in processes]
    if any(endings):
        sys.exit("one of the crawls failed")


def _crawl(folder: Path, urls: Sequence[str]) -> subprocess.Popen[bytes]:
    folder.mkdir()
    seeds = folder / "seeds"
    seeds.write_text("\n".join(urls))
    command = [sys.executable, "-m", "bench.crawlers.gossamer", str(folder), str(seeds)]
    return subprocess.Popen(command, env={**os.environ, PROCESSES: "1"})


if __name__ == "__main__":
    folder, seeds = told()
    crawl_apart(Path(folder), seeds.urls)
