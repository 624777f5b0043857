"""What Schemathesis is told besides the document."""

from __future__ import annotations

import itertools
from typing import Any

import schemathesis

KEY = "Idempotency-Key"
_numbers = itertools.count()
_sent: set[str] = set()


@schemathesis.hook
def before_call(_context: Any, case: schemathesis.Case[Any], _kwargs: dict[str, Any]) -> None:
    """A key that comes again with another body is a conflict, and nobody looks at the body."""
    headers: Any = case.headers or {}
    key = headers.get(KEY)
    if key in _sent:
        headers[KEY] = f"another-{next(_numbers)}"
    elif isinstance(key, str):
        _sent.add(key)
