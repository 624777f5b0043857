"""Hosts as callers name them: with a port or without, in any script."""

import re
from typing import Annotated, Final

from msgspec import Meta

from gossamer.problems import Problem
from gossamer.web.url.url import Url

HostName = Annotated[str, Meta(max_length=300)]
_NO_HOST: Final = re.compile(r"[/\\?#@\s]")


def host_names(text: str) -> list[str]:
    """Its names here: `name:port`, or without a port, one for each of the usual ports."""
    if _NO_HOST.search(text):
        return []
    try:
        return list(dict.fromkeys(Url.parse(f"{scheme}://{text}").site for scheme in ("https", "http")))
    except Problem:
        return []
