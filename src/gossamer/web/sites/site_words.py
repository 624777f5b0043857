"""The words by which sites are told about."""

from enum import StrEnum


class ProofMethod(StrEnum):
    """How somebody has shown that a site is theirs."""

    DNS = "dns"
    FILE = "file"
    META = "meta"
    ADMIN = "admin"  # an admin has registered it, and needs no proof


class ProofFinding(StrEnum):
    """What was found where a proof should be."""

    PROVEN = "proven"
    MISSING = "missing"  # there is nothing
    DIFFERENT = "different"  # there is something else
    UNREACHABLE = "unreachable"


class ExclusionReason(StrEnum):
    """Why a page is not rendered."""

    PATH = "excluded_path"
    BOT = "excluded_bot"


class VisitOutcome(StrEnum):
    """What a robot got for its request."""

    HIT = "hit"  # a rendered page from the cache
    STALE = "stale"  # the same, older than the site wants; it is rendered again
    RENDERED = "rendered"  # a page that was rendered while the robot waited
    SHELL = "shell"  # what the site's own server sends: no rendered page was there in time
    EXCLUDED = "excluded"  # the same, because the site wants it so
    FAILED = "failed"  # the page could not be rendered
