"""Tells hosts of advertisements from others, by a short list of our own that comes with the package."""

from functools import cache
from importlib import resources


def is_ad_host(host: str) -> bool:
    """Whether the host, or a domain that it belongs to, is on the list. It is in lower case, as in URLs."""
    listed, name = _listed(), host.rstrip(".")
    while name:
        if name in listed:
            return True
        name = name.partition(".")[2]
    return False


@cache
def _listed() -> frozenset[str]:
    text = resources.files("gossamer.web.render").joinpath("ad_hosts.txt").read_text()
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
