"""The interpreters of the crawlers that are measured beside ours."""

import os
import subprocess
from pathlib import Path
from typing import Final

from bench.contenders import npm
from bench.contenders.peers import PeerError, python_with

KEEPING: Final = ("backports.zstd", "msgspec")  # what `store` needs
# The last version whose programs are at npm: those of later ones have to be compiled.
SPIDER: Final = ("@spider-rs/spider-rs", "0.0.157")


def scrapy() -> Path:
    return python_with("scrapy", "uvloop", *KEEPING)


def crawlee() -> Path:
    return python_with("crawlee[parsel]", *KEEPING)


def spider_rs() -> Path:
    """Of what reads its pages."""
    command = ["node", "-e", f"require('{SPIDER[0]}')"]
    environment = {**os.environ, **spider_environment()}
    if subprocess.run(command, env=environment, capture_output=True, check=False).returncode:
        raise PeerError(f"npm has no program of {SPIDER[0]} for this machine")
    return python_with("lxml", *KEEPING)


def spider_environment() -> dict[str, str]:
    """With which node finds it."""
    folder = npm.installed(*SPIDER)
    return {"NODE_PATH": str(folder.parents[len(SPIDER[0].split("/")) - 1])}
