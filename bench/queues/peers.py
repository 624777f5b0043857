"""The interpreters of the queues that are measured beside ours, each with the fast driver that it knows."""

from pathlib import Path

from bench.contenders.peers import python_with


def procrastinate() -> Path:
    return python_with("procrastinate", "psycopg[binary]", "uvloop")


def pgqueuer() -> Path:
    return python_with("pgqueuer[asyncpg]")
