"""Anchors: the links and images of Markdown, to list them or to write them in another way."""

import re
from collections.abc import Callable
from typing import Final

from gossamer.web.content.references import LINK_TARGET, LINK_TEXT
from gossamer.web.content.sections import runs_of

Rewrite = Callable[[str, str], str]  # of a text and a URL

_IMAGE: Final = re.compile(rf"!\[({LINK_TEXT})\]{LINK_TARGET}")
_ANCHOR: Final = re.compile(
    r"\\."
    r"|(?<!`)(?P<code>`++)(?:(?!\n\n)[\s\S]){0,2000}?(?<!`)(?P=code)(?!`)"
    rf"|!\[(?P<alt>{LINK_TEXT})\]{LINK_TARGET.replace('(<', '(?P<src><')}"
    rf"|\[(?P<text>{LINK_TEXT})\]{LINK_TARGET.replace('(<', '(?P<to><')}"
)


def as_link(text: str, url: str) -> str:
    return f"[{text}]({_target(url)})"


def as_image(alt: str, url: str) -> str:
    return f"![{alt}]({_target(url)})"


def _target(url: str) -> str:
    return f"<{url}>" if " " in url else url


def rewrite_anchors(markdown: str, link: Rewrite = as_link, image: Rewrite = as_image) -> str:
    """Write each link and each image, also those within links, in another way; code is unchanged."""

    def replace(found: re.Match[str]) -> str:
        if found["alt"] is not None:
            return image(found["alt"], found["src"].strip("<>"))
        if found["text"] is None:
            return found[0]
        text = _IMAGE.sub(lambda inner: image(inner[1], inner[2].strip("<>")), found["text"])
        return link(text, found["to"].strip("<>"))

    return "\n".join(run if is_code else _ANCHOR.sub(replace, run) for is_code, run in runs_of(markdown))


def images_of(markdown: str) -> list[tuple[str, str]]:
    """The description and the URL of each image, in order."""
    found: list[tuple[str, str]] = []

    def note(alt: str, url: str) -> str:
        found.append((alt, url))
        return ""

    rewrite_anchors(markdown, image=note)
    return found
