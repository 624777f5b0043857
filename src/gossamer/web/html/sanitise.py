"""Bound HTML before it is parsed: its size, its depth, and what its tags can multiply into.

Four kinds of page cost a correct HTML parser far more than their size: deeply nested elements (each open tag
searches the open ones), elements with very many attributes, tens of thousands of options, and unclosed
formatting, which is rebuilt inside every later block. A cheap count shows that nearly every page is none of
them; long pages are counted without their inline elements that are closed at once. The others are read tag by
tag and rewritten. All text is kept: elements below the maximal depth are flattened into the last element
above it.

The count can be deceived, because only a parser knows which end tags close something. So a process that must
not hang parses only pages that are light (`is_light`), and leaves the others to a process that can be killed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct, field

from gossamer.web.html.shadow import flatten_shadow_roots
from gossamer.web.html.vocabulary import tags

MAX_HTML_CHARS: Final = 10_000_000  # the rest is cut off
MAX_OPEN_ELEMENTS: Final = 200
MIN_DEEP_TAGS: Final = 4_000  # fewer open tags cannot nest badly
MAX_ATTRIBUTES: Final = 100  # of one element of a rewritten page; an element with more keeps none
MAX_ATTRIBUTE_PAIRS: Final = 2_000_000  # parsers compare each attribute with those before it: milliseconds
MAX_OPTIONS: Final = 2_000
MAX_REBUILT: Final = 1_000_000  # formatting elements that blocks may rebuild
MAX_LIGHT_STEPS: Final = 10_000_000  # every tag may search all open elements: 50 ms
MAX_LIGHT_REBUILT: Final = 60_000  # the same: they are also allocated
INLINE_NESTING: Final = 2  # times two levels of inline elements, as on ordinary pages

_FORMATTING_TAG: Final = re.compile(
    r"<(?=[bcefinstu])(?:b(?:ig)?|code|em|font|i|nobr|s(?:mall|trike|trong)?|tt|u)(?![^ \t\n\f\r/>])[^<>]*>?",
    re.IGNORECASE,
)
_QUOTED: Final = r"(?: [a-z-]+=\"[^\"<>]*+\")*+"
_INLINE: Final = "a|b|big|code|em|font|i|nobr|s|small|span|strike|strong|tt|u"
_CLOSED: Final = re.compile(  # closed by the next tag, or by the next but such elements and empty ones
    rf"<(?=[abcefinstu])({_INLINE}){_QUOTED}>[^<]*+"
    rf"(?:<(?:(?:br|wbr|img){_QUOTED} ?/?>|({_INLINE}){_QUOTED}>[^<]*+</\2>)[^<]*+)*+</\1>"
)
_PLAIN_TAG: Final = re.compile(rf"<[a-z]+{_QUOTED}>")
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^ \t\n\f\r/>]*)|<!--|<[!?/]")
_ANY_TAG: Final = re.compile(r"<(/?)([a-z][a-z0-9-]*)")
_ATTRIBUTE: Final = re.compile(
    r"""[ \t\n\f\r/]*+(?>=?[^ \t\n\f\r/>=]++|=)"""
    r"""(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^ \t\n\f\r>]*+))?+"""
)
# As nearly all tags are written: few attributes, no other tag inside, and an end at the first `>`. The search
# itself passes over them, which is cheaper than to look at each.
_PLAIN_OPEN_TAG: Final = (
    r"""[a-zA-Z][^ \t\n\f\r/<>"'=]*+"""
    r"""(?:[ \t\n\f\r/]++(?:[^ \t\n\f\r/<>"'=]++(?:="[^"<>]*+"|='[^'<>]*+'|=[^ \t\n\f\r<>"'=]++)?+)?+)"""
    rf"{{0,{MAX_ATTRIBUTES - 1}}}+>"
)
_ODD_TAG: Final = re.compile(rf"<(?!{_PLAIN_OPEN_TAG})[a-zA-Z][^ \t\n\f\r/>]*+(?:{_ATTRIBUTE.pattern})*+")
_COMMENT_END: Final = re.compile(r"--!?>")

_FORMATTING: Final = tags("b big code em font i nobr s small strike strong tt u")
_RAW_TEXT: Final = tags("script style textarea title xmp iframe noembed noframes")
_VOID: Final = tags("area base br col embed hr img input link meta param source track wbr keygen frame")
_FOREIGN: Final = frozenset(("svg", "math", "plaintext", "frameset", "template"))  # have rules of their own
_BARRIERS: Final = tags("html body table td th caption object applet marquee button select ul ol dl")
_ENDED_BY: Final = {  # open tags that close an unclosed element before them
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


class BoundedHtml(NamedTuple):
    html: str
    cut: bool  # some content was cut off, or lost its structure


def bound_html(html: str, max_rebuilt_chars: int = MAX_HTML_CHARS) -> BoundedHtml:
    """Return the page if it is harmless, else a harmless one with the same text. Rewriting is slow, so a
    caller in a hurry limits it by `max_rebuilt_chars`."""
    cut = len(html) > MAX_HTML_CHARS
    if cut:
        html = html[:MAX_HTML_CHARS]
    html = flatten_shadow_roots(html)
    if _is_harmless(html):
        return BoundedHtml(html, cut)
    cut = cut or len(html) > max_rebuilt_chars
    rebuilt = _Rebuilder(html[:max_rebuilt_chars]).run()
    return BoundedHtml(rebuilt.html, cut or rebuilt.cut)


def is_light(html: str) -> bool:
    """Whether a parser is done within 50 ms, whatever the tags turn out to mean. A page with many tags can be
    harmless without being light."""
    return any(map(_takes_few_steps, _drop_closed(html))) and not _has_many_attributes(html)


def max_elements(html: str) -> int:
    """Return an upper bound of the elements on a page, without those that a parser adds to tables."""
    *_, left = _drop_closed(html)
    tags = html.count("<")
    return tags + (tags - html.count("</")) * _formatting_bound(left)


def _is_harmless(html: str) -> bool:
    left = html
    for left in _drop_closed(html):
        if _is_flat(left):
            return not _has_many_attributes(html)
    if _may_be_deep(left) or html.count("<option") > MAX_OPTIONS:
        return False
    open_tags = left.count("<") - left.count("</")
    return open_tags * _formatting_bound(left) <= MAX_REBUILT and not _has_many_attributes(html)


def _takes_few_steps(html: str) -> bool:
    tags = html.count("<")
    if tags * tags <= 4 * MAX_LIGHT_REBUILT:  # the worst case is that one half is rebuilt in the other
        return True
    open_tags = tags - html.count("</")
    return open_tags * tags <= MAX_LIGHT_STEPS and _rebuilds_at_most(MAX_LIGHT_REBUILT, html, open_tags)


def _is_flat(html: str) -> bool:
    tags = html.count("<")
    if tags * tags <= 4 * MAX_REBUILT:  # too few tags to cost much, unless they are long
        return True
    open_tags = tags - html.count("</")
    return open_tags <= MIN_DEEP_TAGS and _rebuilds_at_most(MAX_REBUILT, html, open_tags)


def _rebuilds_at_most(elements: int, html: str, open_tags: int) -> bool:
    return open_tags * open_tags <= 4 * elements or open_tags * _formatting_bound(html) <= elements


def _drop_closed(html: str) -> Iterator[str]:
    """Yield the page, and then the page without inline elements that the next tag closes, level by level.

    Wherever such elements stand, they cost a parser no more than their length. Most tags of long pages are
    theirs.
    """
    yield html
    for _ in range(INLINE_NESTING):
        html = _CLOSED.sub(".", html)
        yield html


def _formatting_bound(html: str) -> int:
    """Return an upper bound of the unclosed formatting elements. A parser rebuilds at most three that are
    written alike; only unambiguous tags count as alike."""
    found = Counter(_FORMATTING_TAG.findall(html))
    return sum(min(times, 3) if _PLAIN_TAG.fullmatch(tag) else times for tag, times in found.items())


def _has_many_attributes(html: str) -> bool:
    """Whether the attributes of tags may take long to compare. What looks like a tag in a script counts too,
    because only a parser knows that it is none."""
    pairs = at = 0
    while at < len(html):
        for tag in _ODD_TAG.finditer(html, at):
            text = tag[0]
            if len(text) > 2 * MAX_ATTRIBUTES and (count := len(_ATTRIBUTE.findall(text))) > MAX_ATTRIBUTES:
                pairs += count * count
            if ">" in text:  # if this is no tag, the next one begins behind the first `>`, not behind its end
                at = tag.start() + text.index(">")
                break
        else:
            return pairs > MAX_ATTRIBUTE_PAIRS
        if pairs > MAX_ATTRIBUTE_PAIRS:
            return True
    return False


def _may_be_deep(html: str) -> bool:
    """Whether the page is too deep if only end tags close elements, each of its own name. This separates
    ordinary pages from most others, but misses end tags hidden where they close nothing."""
    depth, opened = 0, dict[str, int]()
    for end, name in _ANY_TAG.findall(html.lower()):
        if end:
            if opened.get(name):
                opened[name] -= 1
                depth -= 1
        elif name not in _VOID:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
            if depth > MAX_OPEN_ELEMENTS:
                return True
    return False


class _Rebuilder(Struct):
    html: str
    written: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)  # names of the open elements, outermost first
    formatting: int = 0  # how many of them format text
    skipped: Counter[str] = field(default_factory=Counter)  # dropped open tags; their end tags go too
    options: int = 0
    rebuilt: int = 0
    cut: bool = False

    def run(self) -> BoundedHtml:
        html, at = self.html, 0
        while (tag := _TAG.search(html, at)) is not None:
            self.written.append(html[at : tag.start()])
            read = self._past_comment if tag[2] is None else self._end if tag[1] else self._begin
            at = read(tag)
        self.written.append(html[at:])
        return BoundedHtml("".join(self.written), self.cut)

    def _past_comment(self, tag: re.Match[str]) -> int:
        html, at = self.html, tag.end()
        if tag[0] != "<!--":
            return _position_after(html.find(">", at), html)
        if html.startswith((">", "->"), at):
            return html.index(">", at) + 1
        end = _COMMENT_END.search(html, at)
        return end.end() if end else len(html)

    def _begin(self, tag: re.Match[str]) -> int:
        name = tag[2].lower()
        after, attributes, whole = self._attributes(tag.end())
        if not whole:
            return len(self.html)  # the page ends inside the tag, so parsers drop it
        if name in _RAW_TEXT:
            return self._raw_text(name, attributes, after)
        if name in _FOREIGN:
            return after
        self._close_implied(name)
        if self._may_open(name):
            self.written.append(f"<{name}{attributes}>")
            if name not in _VOID:
                self.open.append(name)
                self.formatting += name in _FORMATTING
        elif name not in _VOID:
            self.skipped[name] += 1
        return after

    def _may_open(self, name: str) -> bool:
        if name == "option":
            self.options += 1
            return self.options <= MAX_OPTIONS
        if name in _VOID:
            return True
        self.rebuilt += self.formatting
        if name in _FORMATTING and self.rebuilt > MAX_REBUILT:
            self.cut = True
            return False
        if len(self.open) >= MAX_OPEN_ELEMENTS:
            self.cut = True
            return False
        return True

    def _attributes(self, at: int) -> tuple[int, str, bool]:
        """Return the end of the tag, its attributes as written, and whether it ends at all."""
        begin, count = at, 0
        while (found := _ATTRIBUTE.match(self.html, at)) is not None:
            at = found.end()
            count += 1
        end = self.html.find(">", at)
        if end < 0:
            return len(self.html), "", False
        return end + 1, self.html[begin:end].rstrip("/") if count <= MAX_ATTRIBUTES else "", True

    def _raw_text(self, name: str, attributes: str, at: int) -> int:
        end = re.compile(f"</{name}[ \t\n\f\r/>]", re.I).search(self.html, at)
        stop = end.start() if end else len(self.html)
        if name in ("title", "script", "textarea"):
            self.written.append(f"<{name}{attributes}>{self.html[at:stop]}</{name}>")
        return _position_after(self.html.find(">", stop), self.html)

    def _close_implied(self, name: str) -> None:
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
            self.written.append(f"</{name}>")  # both create an element
        return _position_after(self.html.find(">", tag.end()), self.html)

    def _position(self, name: str, only_barrier: str) -> int | None:
        """Return the position of the innermost open element of that name, unless a barrier hides it."""
        if name not in self.open:
            return None
        for at in range(len(self.open) - 1, -1, -1):
            if self.open[at] == name:
                return at
            if self.open[at] in _BARRIERS and (self.open[at] == "table" or not _inside_table(name)):
                return None
        return None

    def _close_from(self, at: int) -> None:
        closed = self.open[at:]
        self.written.extend(f"</{name}>" for name in reversed(closed))
        self.formatting -= sum(name in _FORMATTING for name in closed)
        del self.open[at:]

    def _close(self, name: str) -> None:
        """Close a formatting element without closing the blocks that began inside it."""
        at = len(self.open) - 1 - self.open[::-1].index(name)
        self.written.append(f"</{name}>")
        self.formatting -= name in _FORMATTING
        del self.open[at]


def _inside_table(name: str) -> bool:
    return name in ("table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption")


def _position_after(at: int, html: str) -> int:
    return len(html) if at < 0 else at + 1
