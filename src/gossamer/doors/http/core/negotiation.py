"""Chooses what to answer by the request's headers: a media type, or that the client has it already."""

from collections.abc import Mapping, Sequence

MAX_RANGES = 50


def choose_media_type(accept: str | None, offered: Sequence[str]) -> str:
    """One of `offered`, which begin with our favourite (RFC 9110, 12.5.1). A client that accepts none of them
    gets the first."""
    if accept is None:
        return offered[0]
    ranges = dict(_range(item) for item in accept.lower().split(",", MAX_RANGES)[:MAX_RANGES])
    best = max(offered, key=lambda media_type: _weight(media_type, ranges))  # the first of equals
    return best if _weight(best, ranges) > 0 else offered[0]


def _weight(media_type: str, ranges: Mapping[str, float]) -> float:
    """The weight of the most specific range that matches."""
    kind = media_type.partition("/")[0]
    known = (ranges[name] for name in (media_type, f"{kind}/*", "*/*") if name in ranges)
    return next(known, 0.0)


def _range(item: str) -> tuple[str, float]:
    media_range, *parameters = (part.strip() for part in item.split(";"))
    quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    try:
        return media_range, min(1.0, max(0.0, float(quality)))
    except ValueError:
        return media_range, 0.0


def is_known(if_none_match: str | None, etag: str) -> bool:
    """Whether the client has the answer with this tag (RFC 9110, 13.1.2: compared weakly)."""
    if if_none_match is None or not etag:
        return False
    known = (_opaque(one) for one in if_none_match.split(","))
    return any(one in (_opaque(etag), "*") for one in known)


def _opaque(tag: str) -> str:
    return tag.strip().removeprefix("W/").strip('"')
