"""References: the links of Markdown as numbers (`[text][3]`), with a list of their URLs at the end."""

import re
from typing import Final

from msgspec import Struct, field

from gossamer.web.content.sections import runs_of

LINK_TEXT: Final = r"(?:\\.|[^\[\]\\]|\[(?:\\.|[^\[\]\\])*+\])*+"
LINK_TARGET: Final = (
    r"\([ \t]*+(<[^<>\n]*+>|[^\s()<>]*+(?:\([^\s()]*+\)[^\s()]*+)*+)"
    r"(?:\s++(?:\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'))?+[ \t]*+\)"
)
_IMAGE: Final = re.compile(rf"!\[({LINK_TEXT})\]{LINK_TARGET}")
_MARKUP: Final = re.compile(
    r"\\."
    r"|(?<!`)(`++)(?:(?!\n\n)[\s\S]){0,2000}?(?<!`)\1(?!`)"
    r"|(<!--[\s\S]*?(?:-->|$))"
    rf"|!\[(?P<alt>{LINK_TEXT})\](?:{LINK_TARGET.replace('(<', '(?:<')})"
    rf"|\[(?P<text>{LINK_TEXT})\](?:{LINK_TARGET.replace('(<', '(?P<to><')}|\[(?P<label>[^\[\]\n]*)\])"
    r"|(?P<stray>\](?=\[\d))"
)
_DEFINITION: Final = re.compile(
    r"^ {0,3}\[([^\[\]\n^][^\[\]\n]*+)\]:[ \t]*+<?([^\s<>]++)>?[ \t]*+(?:[\"'(].*[\"')])?[ \t]*+$",
    re.MULTILINE,
)
_REFERENCE: Final = re.compile(r"(?<!\\)\]\[(\d+)\]")


class References(Struct):
    """The URLs of a page by number. They are the same however much of the page is kept."""

    page: str
    numbers: dict[str, int] = field(default_factory=dict)
    lines: dict[int, str] = field(default_factory=dict)
    _labels: dict[str, str] = field(default_factory=dict)

    def rewrite(self, markdown: str) -> str:
        """Replace links by references and images by their description; code is unchanged."""
        runs = list(runs_of(markdown))
        for is_code, run in runs:
            if not is_code and "]:" in run:
                self._labels |= {name.casefold(): to for name, to in _DEFINITION.findall(run)}
        return "\n".join(run if is_code else self._rewrite_run(run) for is_code, run in runs)

    def within(self, text: str) -> set[int]:
        """Return the numbers that a part of the rewritten text refers to."""
        if "][" not in text:
            return set()
        found = {
            int(number)
            for is_code, run in runs_of(text)
            if not is_code
            for number in _REFERENCE.findall(run)
            if len(number) < 10
        }
        return found & self.lines.keys()

    def _rewrite_run(self, run: str) -> str:
        if self._labels:
            run = _DEFINITION.sub("", run)
        return _MARKUP.sub(self._replace, run) if "]" in run or "<!--" in run else run

    def _replace(self, found: re.Match[str]) -> str:
        """Replace one match. Brackets that refer to nothing are escaped, lest they look like a reference."""
        if found[2] is not None:
            return ""
        if found["alt"] is not None:
            return _image_text(found["alt"])
        if found["stray"] is not None:
            return r"\]"
        if found["text"] is None:
            return found[0]
        text = _IMAGE.sub(lambda image: _image_text(image[1]), found["text"])
        if found["to"] is not None:
            return self._reference(text, found["to"].strip("<>"))
        to = self._labels.get((found["label"] or found["text"]).casefold())
        return self._reference(text, to) if to else f"[{text}]\\[{found['label']}]"

    def _reference(self, text: str, to: str) -> str:
        if not text.strip() or not to or to.partition("#")[0] in ("", self.page):
            return text
        number = self.numbers.setdefault(to, len(self.numbers) + 1)
        self.lines[number] = f"[{number}]: {to}"
        return f"[{text}][{number}]"


def _image_text(alt: str) -> str:
    return f"(image: {alt})" if alt.strip() else ""


def without_references(text: str) -> str:
    return _REFERENCE.sub("]", text).replace("[", "").replace("]", "") if "][" in text else text
