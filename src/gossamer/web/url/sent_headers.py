"""Request headers that a caller may have sent along to a page."""

import re
from collections.abc import Mapping
from typing import Final

from gossamer.problems import validation_error

SENDABLE_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-language",
        "authorization",
        "cookie",
        "dnt",
        "referer",
        "x-api-key",
        "x-prerender",
        "x-requested-with",
    }
)
CREDENTIAL_HEADERS: Final = frozenset({"authorization", "cookie", "x-api-key"})
HIDDEN: Final = "[hidden]"  # stands for a value that is kept and not shown
HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise `Problem` for a header that cannot be sent along."""
    for name, value in headers.items():
        if name.lower() not in SENDABLE_HEADERS:
            raise validation_error(
                f"The header {name[:100]!r} cannot be sent along.",
                hint=f"These can: {', '.join(sorted(SENDABLE_HEADERS))}.",
            )
        if not HEADER_VALUE.fullmatch(value):
            raise validation_error(
                f"The header {name!r} has a value that cannot be sent.",
                hint="A value is one line without control characters.",
                details={"header": name},
            )


def has_credentials(headers: Mapping[str, str]) -> bool:
    """Whether pages fetched with these headers may be meant for their sender alone."""
    return any(name.lower() in CREDENTIAL_HEADERS for name in headers)
