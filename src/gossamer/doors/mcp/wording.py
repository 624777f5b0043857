"""Wording of results: our own words, and what strangers wrote, which is always marked."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from gossamer.web.content.marked import PAGE, mark, new_boundary

ContentBlock = dict[str, Any]  # as the protocol writes it
MAX_CHARS: Final = 100_000  # of the strangers' text in one result
MAX_LINE_CHARS: Final = 500
ERROR: Final = "What the server said about the page"
# Details of these are about the request alone, and quote nothing that a page could have written.
_OUR_WORDS: Final = frozenset(
    {
        "VALIDATION_ERROR",
        "INVALID_VIEWPORT",
        "INVALID_TTL",
        "UNAUTHORIZED",
        "PAYMENT_REQUIRED",
        "PAYMENT_FAILED",
        "PAYMENT_IN_USE",
        "FORBIDDEN",
        "KEY_DISABLED",
        "NOT_FOUND",
        "RATE_LIMITED",
        "QUOTA_EXCEEDED",
        "VERSION_CONFLICT",
        "PAYLOAD_TOO_LARGE",
        "SERVICE_UNAVAILABLE",
        "SERVER_BUSY",
        "INTERNAL_ERROR",
    }
)


def text(*parts: str) -> ContentBlock:
    return {"type": "text", "text": "\n".join(part for part in parts if part)}


def picture(data: str, media_type: str) -> ContentBlock:
    """`data` is base64."""
    return {"type": "image", "data": data, "mimeType": media_type}


def strangers(words: str, what: str = PAGE) -> str:
    """What strangers wrote, marked as such."""
    return mark(words, new_boundary(), what)


def line(words: object, limit: int = MAX_LINE_CHARS) -> str:
    """On one line, and not too long."""
    joined = " ".join(str(words).split())
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


def cut(words: str, how_to_get_the_rest: str, limit: int = MAX_CHARS) -> tuple[str, str]:
    """As much as a result may have, and a note about the rest."""
    if len(words) <= limit:
        return words, ""
    return words[:limit], f"Cut after {limit:,} of {len(words):,} characters. {how_to_get_the_rest}"


def listed(facts: Iterable[str]) -> str:
    """A sentence of facts."""
    known = [fact for fact in facts if fact]
    return ", ".join(known) + "." if known else ""


def error(problem: Mapping[str, Any]) -> str:
    """What went wrong, and what to do next."""
    code, detail, hint = problem.get("code", ""), line(problem.get("detail", "")), problem.get("hint")
    is_ours = code in _OUR_WORDS or not code
    said = [f"{code}: {detail}".removeprefix(": ")] if is_ours else [f"{code}: {problem.get('title', '')}."]
    if not is_ours:
        said.append(strangers(detail, ERROR))
    if hint:
        said.append(f"What to do: {line(hint)}")
    if wait := problem.get("retryAfter"):
        said.append(f"Try again after {wait} seconds.")
    if request_id := problem.get("requestId"):
        said.append(f"Request id: {request_id}")
    return "\n".join(said)


def as_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
