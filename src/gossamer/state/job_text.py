"""What is kept of what a job says: no secrets, not too much, and only what both databases can hold."""

import json
from typing import Any, Final

import msgspec

from gossamer.problems import Problem
from gossamer.redaction import redact

LONGEST_ERROR: Final = 2_000


def told(error: BaseException) -> str:
    """An error in a line: its code, and what happened."""
    code, detail = "INTERNAL_ERROR", f"{type(error).__name__}: {error}"
    if isinstance(error, Problem):
        code, detail = error.kind.code, error.detail
    return clean(f"{code}: {detail}", LONGEST_ERROR)


def clean(text: str, longest: int) -> str:
    """Redacted; without NUL, which PostgreSQL refuses, and without halves of surrogate pairs."""
    valid = text[: 4 * longest].encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    kept = redact(valid)
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def as_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can escape
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))
