"""Importing the library costs next to nothing, and a client of a server needs no part of one."""

import subprocess
import sys

import pytest

import gossamer

CONNECT = """
import sys, gossamer
few = len(sys.modules)
gossamer.connect("http://127.0.0.1:9")
served = {"sqlalchemy", "starlette", "uvicorn", "jinja2", "jsonschema_rs", "gossamer.app"}
heavy = served | {"pypdfium2", "gossamer.web.pages.reading", "gossamer.web.outcome.judging"}
print(few, sorted(heavy & set(sys.modules)))
"""


def test_importing_and_connecting_load_little() -> None:
    done = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, check=True)
    modules, heavy = done.stdout.split(maxsplit=1)
    assert heavy.strip() == "[]"
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(len(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(modules) - int(bare.stdout) <= 2


def test_every_name_is_there() -> None:
    assert all(getattr(gossamer, name) is not None for name in gossamer.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gossamer.nothing
