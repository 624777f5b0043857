"""The words for what crawls report with a name: outcomes, reasons and what a crawl waits for."""

from collections.abc import Mapping
from typing import Final

from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.web.crawl.progress import WaitReason
from gossamer.web.crawl.scope import OutOfScope
from gossamer.web.crawl.traps.trap import TrapKind
from gossamer.web.outcome.outcome import Outcome

OUTCOMES: Final[Mapping[str, str]] = {
    Outcome.OK: "This is the page that was asked for.",
    Outcome.BLOCKED: "The site shows a challenge, a captcha or a refusal instead of the page.",
    Outcome.SOFT_404: "The page says that it does not exist, although its status says that all is well.",
    Outcome.LOGIN_WALL: "The site asks for a sign-in or a payment instead of showing the page.",
    Outcome.PARKED: "There is no site yet: this is a placeholder of a registrar, a host or a server.",
    Outcome.EMPTY: "There is nothing to read. Most such pages need JavaScript: crawl them with render.",
    Outcome.ERROR: "The answer is an error, or there was no answer.",
}
WAITS: Final[Mapping[WaitReason, str]] = {
    "robots_unreachable": "robots.txt cannot be fetched. It is tried again after an hour.",
    "failing": "The host failed too often in a row, and is left alone for a while.",
    "pace": "The host asks for a longer pause between two requests.",
    "retry": "The URLs that are left failed before, and are tried again later.",
    "page_quota": "Your crawls have stored as many pages as they may today.",
    "byte_quota": "You keep as many bytes as you may: delete crawls or cached pages that you do not need.",
    "render_limit": "The pages that are left need a browser, and no more renders are allowed now.",
    "turn": "The workers are busy with other hosts and will come to it.",
    "worker": "No worker crawls at the moment. Start one with: gossamer worker",
}
SCOPE: Final[Mapping[str, str]] = {
    OutOfScope.TOO_DEEP: "further from the seeds than the depth allows",
    OutOfScope.OTHER_HOST: "on another host than the seeds",
    OutOfScope.OTHER_DOMAIN: "in another domain than the seeds",
    OutOfScope.OTHER_PREFIX: "outside the seeds' folders",
    OutOfScope.NOT_INCLUDED: "matches no pattern of include",
    OutOfScope.EXCLUDED: "matches a pattern of exclude",
}
TRAP_KINDS: Final[Mapping[TrapKind, str]] = {
    TrapKind.SESSION_ID: "Session ids",
    TrapKind.PARAMETER: "Parameters without effect",
    TrapKind.COPIES: "Links of copies",
    TrapKind.DUPLICATES: "Pages that add nothing",
    TrapKind.CALENDAR: "Calendar without end",
    TrapKind.FACETS: "Combined filters",
    TrapKind.REPEATING_PATH: "Path in circles",
    TrapKind.DEEP_PATH: "Very deep path",
}
_REASONS: Final[Mapping[str, str]] = {
    "robots": "robots.txt does not allow it.",
    "robots_unreachable": "robots.txt cannot be fetched, so nothing is.",
    f"trap_{TrapKind.PARAMETER}": "It is the same page as another URL, which is stored.",
    "defect": "Reading it failed because of a defect here. The server's log has the details.",
    FetchReason.HOSTNAME_BLOCKED: "The address is one that requests are never sent to.",
    FetchReason.PORT_BLOCKED: "The port is one that requests are never sent to.",
    FetchReason.DNS_NOT_FOUND: "The host name does not exist.",
    FetchReason.DNS_FAILED: "The host name could not be looked up.",
    FetchReason.CONNECTION_REFUSED: "The host refused the connection.",
    FetchReason.TLS_INVALID_CERTIFICATE: "The host's certificate is not valid.",
    FetchReason.TLS_FAILED: "No secure connection could be made.",
    FetchReason.UNREACHABLE: "The host cannot be reached.",
    FetchReason.CONNECTION_CLOSED: "The host closed the connection before it had answered.",
    FetchReason.CONNECTION_RESET: "The host broke the connection off.",
    FetchReason.INCOMPLETE: "The answer ended too early.",
    FetchReason.BAD_ENCODING: "The answer is compressed, and damaged.",
    FetchReason.UNKNOWN_ENCODING: "The answer is compressed in a way that is not known here.",
    FetchReason.STACKED_ENCODING: "The answer is compressed too often.",
    FetchReason.HEADERS_TOO_LARGE: "The headers of the answer are too large.",
    FetchReason.UNEXPECTED_UPGRADE: "The host changed to another protocol.",
    FetchReason.BUSY: "Too many requests were on their way at once.",
    FetchReason.BAD_REDIRECT: "It redirects to something that is not an address.",
    FetchReason.REDIRECT_LOOP: "It redirects in a circle.",
    FetchReason.TOO_MANY_REDIRECTS: "It redirects too often.",
    FetchReason.TOO_LARGE: "The answer is too large.",
    FetchReason.NOT_HTTP: "The answer is not HTTP.",
    FetchReason.DNS_TIMEOUT: "Looking the host name up took too long.",
    FetchReason.CONNECT_TIMEOUT: "Connecting took too long.",
    FetchReason.TLS_TIMEOUT: "Making a secure connection took too long.",
    FetchReason.FIRST_BYTE_TIMEOUT: "The host did not begin to answer in time.",
    FetchReason.TOO_SLOW: "The answer arrived too slowly.",
    FetchReason.WHOLE_TIMEOUT: "The answer did not arrive in time.",
}


def explain(reason: str | None) -> str:
    """A reason as a sentence. One that has no sentence yet is shown as it is."""
    if not reason:
        return ""
    if reason.startswith("status_"):
        return f"The host answered with the status {reason.removeprefix('status_')}."
    return _REASONS.get(reason, reason)
