"""Who crawls: each with the key by which `--only` chooses it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench import servers
from bench.contenders.peers import PeerError
from bench.crawlers import peers

PEER: Final = "Scrapy, tuned"


@dataclass(frozen=True, slots=True)
class Contender:
    key: str
    name: str
    module: str
    python: Callable[[], Path]
    processes: int = 1  # and cores
    on_postgres: bool = False
    environment: Callable[[], Mapping[str, str]] = field(default=dict)


def _ours() -> Path:
    return Path(sys.executable)


ALL: Final = (
    Contender("scrapy_tuned", PEER, "scrapy_tuned", peers.scrapy),
    Contender("scrapy_idiomatic", "Scrapy, as documented", "scrapy_idiomatic", peers.scrapy),
    Contender("crawlee", "Crawlee, Parsel", "crawlee", peers.crawlee),
    Contender(
        "spider_rs", "spider-rs, lxml", "spider_rs", peers.spider_rs, environment=peers.spider_environment
    ),
    Contender("gossamer", "Gossamer", "gossamer", _ours),
    Contender("gossamer-2", "Gossamer, 2 processes", "gossamer", _ours, processes=2),
    Contender("gossamer-apart", "Gossamer, 2 crawls apart", "gossamer_apart", _ours, processes=2),
    Contender("gossamer-postgres", "Gossamer, PostgreSQL", "gossamer", _ours, on_postgres=True),
    Contender(
        "gossamer-postgres-2",
        "Gossamer, PostgreSQL, 2 processes",
        "gossamer",
        _ours,
        processes=2,
        on_postgres=True,
    ),
)
# One process and two, by database; and one crawl beside two at once that share nothing.
SECOND: Final = {
    "SQLite": ("Gossamer", "Gossamer, 2 processes"),
    "PostgreSQL": ("Gossamer, PostgreSQL", "Gossamer, PostgreSQL, 2 processes"),
}
APART: Final = ("Gossamer", "Gossamer, 2 crawls apart")


def available(only: Sequence[str]) -> tuple[list[Contender], list[str]]:
    """Those that are wanted, installed; and why others are missing."""
    found, missing = [], []
    for one in ALL:
        if only and one.key not in only:
            continue
        try:
            one.python()
            found.append(one)
        except PeerError as error:
            missing.append(f"{one.name}: {error}")
            servers.say(f"without {missing[-1]}")
    return found, missing
