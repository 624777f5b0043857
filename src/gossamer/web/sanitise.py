"""HTML that a parser can be given: bounded in size, in depth and in what its tags can multiply into.

Four kinds of page cost a correct HTML parser far more than their size: deeply nested elements (each open tag
searches the open ones), elements with very many attributes, options by the ten thousand, and formatting left
open, which is built anew inside every later block. A cheap count tells that a page can be none of them, which
is nearly always so. The others are read tag by tag and written anew, keeping all text: what stands too deep
is kept flat, in the last element that was deep enough.

The count can be deceived, for only a parser knows which end tags end something. So who must not be stopped
parses only what `is_light`, and leaves the rest to a process that can be stopped.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gossamer.web.shadow import composed
from gossamer.web.vocabulary import tags

LARGEST: Final = 10_000_000  # characters; what follows is cut off
DEEPEST: Final = 200  # open elements
OPEN_TAGS: Final = 4_000  # fewer than these cannot nest badly
ATTRIBUTES: Final = 100  # of one element; with more it keeps none
LONG_TAG: Final = 4_096  # characters without a `>` that may hold too many attributes
OPTIONS: Final = 2_000
REBUILT: Final = 1_000_000  # formatting elements that blocks may build anew
LIGHT_TAGS: Final = 2_000  # open tags that take milliseconds even if each is inside the one before it
LIGHT_REBUILT: Final = 60_000
NESTED: Final = 3  # elements inside each other within a line, as people write them

_FORMATTING_TAG: Final = re.compile(
    r"<[bcefinstu](?:[ >/\t\n\f\r]|ig|ode|m|ont|obr|mall|tr|t)[^<>]*>?", re.IGNORECASE
)
_QUOTED: Final = r"(?: [a-z-]+=\"[^\"<>]*+\")*+"
_CLOSED: Final = re.compile(  # by the next tag, if it is one at all
    rf"<(a|b|big|code|em|font|i|nobr|s|small|span|strike|strong|tt|u){_QUOTED}>"
    rf"[^<]*+(?:<(?:br|wbr|img){_QUOTED} ?/?>[^<]*+)*+</\1>"
)
_PLAIN_TAG: Final = re.compile(rf"<[a-z]+{_QUOTED}>")
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^ \t\n\f\r/>]*)|<!--|<[!?/]")
_ANY_TAG: Final = re.compile(r"<(/?)([a-z][a-z0-9-]*)")
_TAG_START: Final = re.compile(r"<[a-zA-Z][^ \t\n\f\r/>]*")
_ATTRIBUTE: Final = re.compile(
    r"""[ \t\n\f\r/]*(?:=?[^ \t\n\f\r/>=]+|=)"""
    r"""(?:[ \t\n\f\r]*=[ \t\n\f\r]*(?:"[^"]*"|'[^']*'|(?!["'])[^ \t\n\f\r>]*))?"""
)
_COMMENT_END: Final = re.compile(r"--!?>")

_FORMATTING: Final = tags("b big code em font i nobr s small strike strong tt u")
_RAW_TEXT: Final = tags("script style textarea title xmp iframe noembed noframes")
_VOID: Final = tags("area base br col embed hr img input link meta param source track wbr keygen frame")
_FOREIGN: Final = frozenset(("svg", "math", "plaintext", "frameset", "template"))  # other rules hold inside
_BARRIERS: Final = tags("html body table td th caption object applet marquee button select ul ol dl")
_ENDED_BY: Final = {  # an open tag that ends an element left open before it
    "li": ("li",),
    "dt": ("dt", "dd"),
    "dd": ("dt", "dd"),
    "option": ("option",),
    "tr": ("td", "th", "tr"),
    "td": ("td", "th"),
    "th": ("td", "th"),
    "tbody": ("td", "th", "tr", "tbody", "thead"),
    "tfoot": ("td", "th", "tr", "tbody", "thead"),
}
_ENDS_PARAGRAPH: Final = tags(
    "address article aside blockquote center details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr main menu nav ol p pre section table ul"
)


class Bounded(NamedTuple):
    html: str
    cut: bool  # something was cut off, or is kept without its structure


def bounded(html: str, rebuilt_at_most: int = LARGEST) -> Bounded:
    """The page itself when it is harmless, else one that says the same and is. Writing it anew takes long:
    who cannot wait says how many characters of such a page are enough."""
    cut = len(html) > LARGEST
    if cut:
        html = html[:LARGEST]
    html = composed(html)
    if _is_harmless(html):
        return Bounded(html, cut)
    cut = cut or len(html) > rebuilt_at_most
    rebuilt = _Rebuilding(html[:rebuilt_at_most]).run()
    return Bounded(rebuilt.html, cut or rebuilt.cut)


def is_light(html: str) -> bool:
    """Whether every parser is done with it in milliseconds, whatever its tags turn out to mean. One of many
    tags may be harmless and still not be light: only a parser knows."""
    tags = html.count("<")
    if tags * tags > 4 * LIGHT_REBUILT:
        tags -= html.count("</")
    if tags > LIGHT_TAGS:
        return False
    # The most comes of one half of the tags being built anew in the other.
    if tags * tags > 4 * LIGHT_REBUILT and tags * _formatting_bound(html) > LIGHT_REBUILT:
        return False
    return not _has_many_attributes(html)


def most_elements(html: str) -> int:
    """No more elements come of it, but for those that a parser adds to make tables whole."""
    tags = html.count("<")
    left = html
    for _ in range(NESTED):
        left = _CLOSED.sub(".", left)
    return tags + (tags - html.count("</")) * _formatting_bound(left)


def _is_harmless(html: str) -> bool:
    tags = html.count("<")
    if tags * tags <= REBUILT:  # too few for anything but long ones
        return not _has_many_attributes(html)
    open_tags = tags - html.count("</")
    if open_tags > OPEN_TAGS and (_may_be_deep(html) or html.count("<option") > OPTIONS):
        return False
    if open_tags * open_tags > REBUILT and open_tags * _formatting_bound(html) > REBUILT:
        return False
    return not _has_many_attributes(html)


def _formatting_bound(html: str) -> int:
    """How many formatting elements can be left open, or more: of those that are written the same, a parser
    builds only three anew. Only tags that can be read in no other way are taken to be the same."""
    found = Counter(_FORMATTING_TAG.findall(html))
    return sum(min(times, 3) if _PLAIN_TAG.fullmatch(tag) else times for tag, times in found.items())


def _has_many_attributes(html: str) -> bool:
    """Whether a tag so long that it costs something has too many of them."""
    at = 0
    while at < len(html):
        if html.find(">", at, at + LONG_TAG) >= 0:
            at += LONG_TAG
            continue
        begin, end = html.rfind(">", 0, at) + 1, html.find(">", at)
        end = len(html) if end < 0 else end
        if _counts_too_many(html, begin, end):
            return True
        at = end + 1
    return False


def _counts_too_many(html: str, begin: int, end: int) -> bool:
    tag = _TAG_START.search(html, begin, end)
    count, at = 0, tag.end() if tag else end
    while count <= ATTRIBUTES and (found := _ATTRIBUTE.match(html, at, end)) is not None:
        count, at = count + 1, found.end()
    return count > ATTRIBUTES


def _may_be_deep(html: str) -> bool:
    """Whether it would be too deep if nothing but end tags closed an element, each one of its own name. That
    tells honest pages from most others; who hides end tags where they end nothing is not found out."""
    depth, opened = 0, dict[str, int]()
    for end, name in _ANY_TAG.findall(html.lower()):
        if end:
            if opened.get(name):
                opened[name] -= 1
                depth -= 1
        elif name not in _VOID:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
            if depth > DEEPEST:
                return True
    return False


@dataclass(slots=True)
class _Rebuilding:
    html: str
    written: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)  # names of the elements that are open, outermost first
    skipped: Counter[str] = field(default_factory=Counter)  # open tags left out, whose end tags go too
    options: int = 0
    rebuilt: int = 0
    cut: bool = False

    def run(self) -> Bounded:
        html, at = self.html, 0
        while (tag := _TAG.search(html, at)) is not None:
            self.written.append(html[at : tag.start()])
            read = self._past_comment if tag[2] is None else self._end if tag[1] else self._begin
            at = read(tag)
        self.written.append(html[at:])
        return Bounded("".join(self.written), self.cut)

    def _past_comment(self, tag: re.Match[str]) -> int:
        html, at = self.html, tag.end()
        if tag[0] != "<!--":
            return _after(html.find(">", at), html)
        if html.startswith((">", "->"), at):
            return html.index(">", at) + 1
        end = _COMMENT_END.search(html, at)
        return end.end() if end else len(html)

    def _begin(self, tag: re.Match[str]) -> int:
        name = tag[2].lower()
        after, attributes, whole = self._attributes(tag.end())
        if not whole:
            return len(self.html)  # the page ends inside the tag: no parser makes an element of it
        if name in _RAW_TEXT:
            return self._raw_text(name, attributes, after)
        if name in _FOREIGN:
            return after
        self._end_what_it_ends(name)
        if self._may_open(name):
            self.written.append(f"<{name}{attributes}>")
            if name not in _VOID:
                self.open.append(name)
        elif name not in _VOID:
            self.skipped[name] += 1
        return after

    def _may_open(self, name: str) -> bool:
        if name == "option":
            self.options += 1
            return self.options <= OPTIONS
        if name in _VOID:
            return True
        self.rebuilt += sum(1 for one in self.open if one in _FORMATTING)
        if name in _FORMATTING and self.rebuilt > REBUILT:
            self.cut = True
            return False
        if len(self.open) >= DEEPEST:
            self.cut = True
            return False
        return True

    def _attributes(self, at: int) -> tuple[int, str, bool]:
        """Where the tag ends, its attributes as written, and whether it ends at all."""
        begin, count = at, 0
        while (found := _ATTRIBUTE.match(self.html, at)) is not None:
            at = found.end()
            count += 1
        end = self.html.find(">", at)
        if end < 0:
            return len(self.html), "", False
        return end + 1, self.html[begin:end].rstrip("/") if count <= ATTRIBUTES else "", True

    def _raw_text(self, name: str, attributes: str, at: int) -> int:
        end = re.compile(f"</{name}[ \t\n\f\r/>]", re.I).search(self.html, at)
        stop = end.start() if end else len(self.html)
        if name in ("title", "script", "textarea"):
            self.written.append(f"<{name}{attributes}>{self.html[at:stop]}</{name}>")
        return _after(self.html.find(">", stop), self.html)

    def _end_what_it_ends(self, name: str) -> None:
        if name in _ENDS_PARAGRAPH and self.open and self.open[-1] == "p":
            self._close("p")
        for ended in _ENDED_BY.get(name, ()):
            at = self._position(ended, "table" if name in ("tr", "td", "th", "tbody", "tfoot") else "")
            if at is not None:
                self._close_from(at)

    def _end(self, tag: re.Match[str]) -> int:
        name = tag[2].lower()
        if self.skipped[name]:
            self.skipped[name] -= 1
        elif name in _FORMATTING and name in self.open:
            self._close(name)
        elif name not in _FOREIGN and (at := self._position(name, "table")) is not None:
            self._close_from(at)
        elif name in ("p", "br"):
            self.written.append(f"</{name}>")  # both make an element of their own
        return _after(self.html.find(">", tag.end()), self.html)

    def _position(self, name: str, only_barrier: str) -> int | None:
        """Where the innermost element of that name is open, unless something hides it from its end tag."""
        if name not in self.open:
            return None
        for at in range(len(self.open) - 1, -1, -1):
            if self.open[at] == name:
                return at
            if self.open[at] in _BARRIERS and (self.open[at] == "table" or not _inside_table(name)):
                return None
        return None

    def _close_from(self, at: int) -> None:
        self.written.extend(f"</{name}>" for name in reversed(self.open[at:]))
        del self.open[at:]

    def _close(self, name: str) -> None:
        """Formatting ends without ending the blocks that began inside it."""
        at = len(self.open) - 1 - self.open[::-1].index(name)
        self.written.append(f"</{name}>")
        del self.open[at]


def _inside_table(name: str) -> bool:
    return name in ("table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption")


def _after(at: int, html: str) -> int:
    return len(html) if at < 0 else at + 1
