"""The interpreters of the crawlers that are measured beside ours."""

from pathlib import Path

from bench.contenders.peers import python_with


def scrapy() -> Path:
    return python_with("scrapy", "uvloop")


def crawlee() -> Path:
    return python_with("crawlee[parsel]")
