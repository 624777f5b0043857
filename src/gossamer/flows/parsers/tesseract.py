"""Tesseract: recognises the text on a picture, in a process of its own.

The engine is a program that the operator has installed. It inherits the limits of the parser process that
starts it, and gets one picture, no other files, and no environment.
"""

import ctypes
import signal
import subprocess
import time
from contextlib import suppress
from functools import lru_cache
from typing import Final

from msgspec import Struct

LIST_SECONDS: Final = 2.0
MAX_LANGUAGES: Final = 4  # each takes more time
MAX_TEXT_BYTES: Final = 200_000  # of a page
_NO_LANGUAGES: Final = frozenset({"osd", "equ"})  # models for something else
_ENVIRONMENT: Final = {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C"}  # its threads cost more time than they save
_SET_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG


class Tesseract(Struct, frozen=True):
    path: str

    def recognise(self, picture: bytes, until: float) -> str | None:
        """Return the text on a picture; None if it is not recognised by a moment of the monotonic clock."""
        try:
            command = [self.path, "stdin", "stdout", "-l", _languages(self.path)]
            text = _run(command, picture, until - time.monotonic())
        except (OSError, subprocess.SubprocessError, LookupError):
            return None
        return text[:MAX_TEXT_BYTES].decode("utf-8", "replace")


@lru_cache(maxsize=1)
def _languages(path: str) -> str:
    """Return the installed languages as the engine takes them."""
    listed = _run([path, "--list-langs"], b"", LIST_SECONDS).decode("ascii", "ignore").splitlines()[1:]
    found = sorted((name for name in listed if name not in _NO_LANGUAGES), key=_english_first)
    if not found:
        raise LookupError(path)
    return "+".join(found[:MAX_LANGUAGES])


def _english_first(name: str) -> tuple[bool, str]:
    return name != "eng", name


def _run(command: list[str], given: bytes, seconds: float) -> bytes:
    if seconds <= 0:
        raise subprocess.TimeoutExpired(command, seconds)
    return subprocess.run(  # noqa: S603  (no shell, and every word is ours)
        command,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_ENVIRONMENT,
        timeout=seconds,
        check=True,
        preexec_fn=_die_with_parent,  # safe, because a parser process has one thread
    ).stdout


def _die_with_parent() -> None:
    """Let the system end the engine when the parser process is killed."""
    with suppress(OSError, AttributeError):  # only Linux has it; elsewhere its limits end it
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
