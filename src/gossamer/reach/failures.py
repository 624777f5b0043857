"""How a fetch fails once it is connected: the reasons, their words, and which are worth a second try.

CONTENT_TOO_LARGE   more bytes than asked for, as sent or decoded       permanent
FETCH_TIMEOUT       a deadline passed; `details.reason` says which      transient
FETCH_FAILED        everything else; `details.reason` says what         as the table says
"""

from typing import Final

from gossamer import problems
from gossamer.problems import Problem

# The connection: another attempt may go better.
TRANSIENT: Final = {
    "connection_closed": "The target closed the connection without an answer",
    "connection_reset": "The connection to the target broke",
    "incomplete": "The target's answer ended before it was complete",
}
# What the target says: it would say the same again.
PERMANENT: Final = {
    "bad_encoding": "The target's answer is not in the content coding that it names",
    "bad_redirect": "The target redirects to an address that cannot be followed",
    "headers_too_large": "The target's headers are larger, or more, than is accepted",
    "not_http": "What the target answers is not HTTP",
    "redirect_loop": "The target redirects in a loop",
    "stacked_encoding": "The target's answer is in more than one content coding",
    "too_many_redirects": "The target redirects too often",
    "unknown_encoding": "The target's answer is in a content coding that was not asked for",
    "unexpected_upgrade": "The target switches to another protocol without being asked",
}
TIMEOUTS: Final = {
    "first_byte_timeout": "The target did not begin to answer in time",
    "too_slow": "The target sends too slowly",
    "whole_timeout": "The target did not answer in full in time",
    "busy": "Too many fetches are under way, and none ended in time",
}
NEVER_AGAIN: Final = frozenset(PERMANENT) | {
    "dns_not_found",
    "tls_invalid_certificate",
}  # these are the dialer's


def failed(reason: str, note: str = "") -> Problem:
    words = TRANSIENT.get(reason) or PERMANENT[reason]
    return Problem(
        problems.FETCH_FAILED, f"{words} ({note})." if note else f"{words}.", details={"reason": reason}
    )


def timed_out(reason: str) -> Problem:
    return Problem(problems.FETCH_TIMEOUT, f"{TIMEOUTS[reason]}.", details={"reason": reason})


def too_large(max_bytes: int) -> Problem:
    return Problem(
        problems.CONTENT_TOO_LARGE,
        f"The target sent more than {max_bytes:,} bytes.",
        details={"reason": "too_large", "maxBytes": max_bytes},
    )


def reason_of(problem: Problem) -> str:
    return str(problem.members.get("details", {}).get("reason", ""))


def is_transient(problem: Problem) -> bool:
    """Whether the same fetch may succeed if it is tried again soon."""
    if problem.kind is problems.FETCH_TIMEOUT:
        return True
    return problem.kind is problems.FETCH_FAILED and reason_of(problem) not in NEVER_AGAIN
