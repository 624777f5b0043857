"""How a fetch fails once it is connected: a sentence for each reason, and which are worth another try.

CONTENT_TOO_LARGE   more bytes than asked for, as sent or decoded       permanent
FETCH_TIMEOUT       a deadline passed; `details.reason` says which      transient
FETCH_FAILED        everything else; `details.reason` says what         as the table says
"""

from typing import Final

from gossamer import problems
from gossamer.problems import Problem
from gossamer.reach.net.fetch_reason import FetchReason

# About the connection: another attempt may succeed.
TRANSIENT: Final = {
    FetchReason.CONNECTION_CLOSED: "The target closed the connection without an answer",
    FetchReason.CONNECTION_RESET: "The connection to the target broke",
    FetchReason.INCOMPLETE: "The target's answer ended before it was complete",
}
# About the answer: the target would give the same one again.
PERMANENT: Final = {
    FetchReason.BAD_ENCODING: "The target's answer is not in the content coding that it names",
    FetchReason.BAD_REDIRECT: "The target redirects to an address that cannot be followed",
    FetchReason.HEADERS_TOO_LARGE: "The target's headers are larger, or more, than is accepted",
    FetchReason.NOT_HTTP: "What the target answers is not HTTP",
    FetchReason.REDIRECT_LOOP: "The target redirects in a loop",
    FetchReason.STACKED_ENCODING: "The target's answer is in more than one content coding",
    FetchReason.TOO_MANY_REDIRECTS: "The target redirects too often",
    FetchReason.UNKNOWN_ENCODING: "The target's answer is in a content coding that was not asked for",
    FetchReason.UNEXPECTED_UPGRADE: "The target switches to another protocol without being asked",
}
TIMEOUTS: Final = {
    FetchReason.FIRST_BYTE_TIMEOUT: "The target did not begin to answer in time",
    FetchReason.TOO_SLOW: "The target sends too slowly",
    FetchReason.WHOLE_TIMEOUT: "The target did not answer in full in time",
    FetchReason.BUSY: "Too many fetches are under way, and none ended in time",
}
NEVER_AGAIN: Final = frozenset(PERMANENT) | {
    FetchReason.DNS_NOT_FOUND,
    FetchReason.TLS_INVALID_CERTIFICATE,
}


def failed(reason: FetchReason, note: str = "") -> Problem:
    words = TRANSIENT.get(reason) or PERMANENT[reason]
    return Problem(
        problems.FETCH_FAILED, f"{words} ({note})." if note else f"{words}.", details={"reason": reason.value}
    )


def timed_out(reason: FetchReason) -> Problem:
    return Problem(problems.FETCH_TIMEOUT, f"{TIMEOUTS[reason]}.", details={"reason": reason.value})


def too_large(max_bytes: int) -> Problem:
    return Problem(
        problems.CONTENT_TOO_LARGE,
        f"The target sent more than {max_bytes:,} bytes.",
        details={"reason": FetchReason.TOO_LARGE.value, "maxBytes": max_bytes},
    )


def reason_of(problem: Problem) -> str:
    return problem.reason or ""


def is_transient(problem: Problem) -> bool:
    """Whether the same fetch may succeed if it is tried again soon."""
    if problem.kind is problems.FETCH_TIMEOUT:
        return True
    return problem.kind is problems.FETCH_FAILED and reason_of(problem) not in NEVER_AGAIN
