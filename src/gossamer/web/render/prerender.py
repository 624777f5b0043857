"""Prepares a document that a browser has rendered to be served without its scripts.

Scripts and preloads of scripts are removed; JSON-LD stays. A `<base>` keeps links right wherever the document
is served, and the charset is declared as UTF-8. Everything else stays as the browser wrote it. The document
is read once, tag by tag, as a tokenizer does, so no tree is built that could be too deep. Handlers in
attributes stay: without the scripts they do nothing until a user clicks.

With `<meta name="prerender-status-code">` and `<meta name="prerender-header">` a page sets the status and the
headers of its answer. Only headers about the page itself are accepted.
"""

import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Final, NamedTuple

from msgspec import Struct, field

from gossamer.problems import Problem
from gossamer.web.html.vocabulary import tags
from gossamer.web.url.url import Url

MAX_HEADERS: Final = 20
MAX_HEADER_CHARS: Final = 2_000
HEADERS: Final = frozenset(
    {"content-language", "expires", "last-modified", "link", "location", "retry-after", "x-robots-tag"}
)
CHARSET: Final = '<meta charset="utf-8">'
DATA: Final = "application/ld+json"  # a script that is none

_ATTRIBUTES: Final = (
    r"(?:[ \t\n\f\r/]*+[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
    r"""(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^ \t\n\f\r>]*+)|(?![ \t\n\f\r]*+=)))*+"""
)
_BEGIN: Final = re.compile(r"<(?:/?[a-zA-Z]|!--|[!?/])")
_TAG: Final = re.compile(rf"<(/?)([a-zA-Z][^ \t\n\f\r/>]*+)({_ATTRIBUTES})[ \t\n\f\r/]*+>")
_ATTRIBUTE: Final = re.compile(
    r"[ \t\n\f\r/]*+([^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)"
    r"""(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:"([^"]*+)"|'([^']*+)'|([^ \t\n\f\r>]*+)))?"""
)
_DOCTYPE: Final = re.compile(r"<!doctype[^>]*+>", re.I)
_COMMENT_END: Final = re.compile(r"--!?>")
_SCRIPT_PART: Final = re.compile(r"<!--|-->|<(/?)script(?=[ \t\n\f\r/>])", re.I)
_SCRIPT_FILE: Final = re.compile(r"\.m?js(?:$|[?#])", re.I)
_STATUS: Final = re.compile(r"\s*([2-5][0-9][0-9])\s*")
_HEADER: Final = re.compile(r"\s*+([!#$%&'*+.^_`|~0-9A-Za-z-]++)\s*+:[ \t]*+([\x20-\x7e]++)\s*+")

_RAW_TEXT: Final = tags("style textarea title xmp iframe noembed noframes")
_READ: Final = tags("script link meta base head html")
_FOREIGN: Final = frozenset(("svg", "math"))
_HTML_INSIDE: Final = tags("foreignobject desc title annotation-xml mi mo mn ms mtext")  # of what is foreign
_MAX_DEPTH: Final = 500  # of these elements in each other
_BREAKS_OUT: Final = tags(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing "
    "menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)


class Prerendered(Struct, frozen=True):
    html: str
    status: int | None = None  # from the page itself, if it sets one
    headers: tuple[tuple[str, str], ...] = ()  # likewise; names in lower case


def prerender(html: str, url: str, *, keep_scripts: bool = False) -> Prerendered:
    """Prepare `html`, which came from `url`."""
    return _DocumentEditor(html, Url.parse(url), keep_scripts).run()


class _Tag(NamedTuple):
    """A start tag; of a script, the whole element."""

    start: int
    end: int
    name: str
    attributes: str

    def read(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, *values in _ATTRIBUTE.findall(self.attributes):
            found.setdefault(name.lower(), unescape("".join(values)))  # of two, the first counts
        return found


class _DocumentEditor(Struct):
    html: str
    url: Url
    keep_scripts: bool
    edits: list[tuple[int, int, str]] = field(default_factory=list)  # start, end, and the replacement
    status: int | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    based: bool = False

    def run(self) -> Prerendered:
        tops: dict[str, int] = {}
        for tag in _TagScanner(self.html).tags():
            if tag.name in ("head", "html", "!doctype"):
                tops.setdefault(tag.name, tag.end)
            else:
                self._edit(tag)
        top = next((tops[name] for name in ("head", "html", "!doctype") if name in tops), 0)
        base = "" if self.based else _base({"href": self.url.href.partition("#")[0]})
        self.edits.append((top, top, CHARSET + base))
        return Prerendered("".join(self._write()), self.status, tuple(self.headers))

    def _write(self) -> Iterator[str]:
        at = 0
        for start, end, text in sorted(self.edits):
            kept = self.html[at:start]
            # The text that follows must not turn a lone angle bracket into a tag.
            yield f"{kept[:-1]}&lt;" if kept.endswith("<") and not text else kept
            yield text
            at = end
        yield self.html[at:]

    def _edit(self, tag: _Tag) -> None:
        attributes = tag.read()
        if tag.name == "script":
            kind = attributes.get("type", "").partition(";")[0].strip().lower()
            if not self.keep_scripts and kind != DATA:
                self._drop(tag)
        elif tag.name == "link":
            if not self.keep_scripts and _fetches_a_script(attributes):
                self._drop(tag)
        elif tag.name == "meta":
            self._meta(tag, attributes)
        elif "href" in attributes and not self.based:
            self.based = True
            absolute = {**attributes, "href": self._absolute(attributes["href"])}
            self.edits.append((tag.start, tag.end, _base(absolute)))

    def _meta(self, tag: _Tag, attributes: dict[str, str]) -> None:
        content = attributes.get("content", "")
        name = attributes.get("name", "").strip().lower()
        if "charset" in attributes or attributes.get("http-equiv", "").strip().lower() == "content-type":
            self._drop(tag)
        elif name == "prerender-status-code" and self.status is None:
            said = _STATUS.fullmatch(content)
            self.status = int(said[1]) if said else None
        elif name == "prerender-header" and len(self.headers) < MAX_HEADERS:
            header = _HEADER.fullmatch(content[:MAX_HEADER_CHARS])
            if header and header[1].lower() in HEADERS:
                self.headers.append((header[1].lower(), header[2].rstrip()))

    def _drop(self, tag: _Tag) -> None:
        self.edits.append((tag.start, tag.end, ""))

    def _absolute(self, href: str) -> str:
        try:
            return self.url.join(href.strip()).href
        except Problem:  # `data:`, `javascript:` and the like, which browsers do not believe either
            return self.url.href.partition("#")[0]


def _fetches_a_script(link: dict[str, str]) -> bool:
    rel = set(link.get("rel", "").lower().split())
    if "modulepreload" in rel:
        return True
    ahead = bool(rel & {"preload", "prefetch"})
    kind = link.get("as", "").strip().lower()
    return ahead and (
        kind in ("script", "worker") or (not kind and bool(_SCRIPT_FILE.search(link.get("href", ""))))
    )


def _base(attributes: dict[str, str]) -> str:
    written = (f'{name}="{escape(value)}"' for name, value in attributes.items())
    return f"<base {' '.join(written)}>"


class _TagScanner(Struct):
    """The tags that matter, found as a tokenizer finds them: not in comments, values and mere text."""

    html: str
    inside: list[str] = field(default_factory=list)  # open elements of SVG, MathML, and HTML inside those

    def tags(self) -> Iterator[_Tag]:
        at = 0
        while (begin := _BEGIN.search(self.html, at)) is not None:
            start = begin.start()
            if begin[0][-1].isalpha():
                found = _TAG.match(self.html, start)
                if found is None:
                    return  # it does not end, so parsers drop the rest
                name, foreign = found[2].lower(), self._is_foreign
                at = found.end() if found[1] else self._content_of(name, found)
                if found[1]:
                    self._leave(name)
                elif name in _READ and (name == "script" or not foreign):
                    end = at if name == "script" else found.end()
                    yield _Tag(start, end, name, found[3])
            else:
                at = self._past(begin)
                if not self._is_foreign and _DOCTYPE.match(self.html, start):
                    yield _Tag(start, at, "!doctype", "")

    @property
    def _is_foreign(self) -> bool:
        return bool(self.inside) and self.inside[-1] in _FOREIGN

    def _past(self, begin: re.Match[str]) -> int:
        """The position after a comment, a doctype, or a bogus comment."""
        at = begin.end()
        if begin[0] != "<!--":
            if self._is_foreign and self.html.startswith("<![CDATA[", begin.start()):
                return _after(self.html, "]]>", at)
            return _after(self.html, ">", at)
        if self.html.startswith((">", "->"), at):
            return self.html.index(">", at) + 1
        end = _COMMENT_END.search(self.html, at)
        return end.end() if end else len(self.html)

    def _content_of(self, name: str, tag: re.Match[str]) -> int:
        """The position after a start tag; for an element with only text, after its content."""
        at = tag.end()
        if self._is_foreign:
            if name in _BREAKS_OUT:
                self._break_out()
            elif tag[0].endswith("/>"):
                return at
            elif name != "script":
                if name in _FOREIGN or name in _HTML_INSIDE:
                    self._enter(name)
                return at
        if name == "script":
            return _script_end(self.html, at)
        if name in _FOREIGN and not tag[0].endswith("/>"):
            self._enter(name)
        elif name == "plaintext":
            return len(self.html)
        elif name in _RAW_TEXT:
            end = re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.I).search(self.html, at)
            return end.start() if end else len(self.html)
        return at

    def _enter(self, name: str) -> None:
        if len(self.inside) < _MAX_DEPTH:
            self.inside.append(name)

    def _leave(self, name: str) -> None:
        if name in self.inside:
            while self.inside.pop() != name:
                pass

    def _break_out(self) -> None:
        while self._is_foreign:
            self.inside.pop()


def _script_end(html: str, at: int) -> int:
    """The position after the end tag of a script. One in a comment after another `<script` does not count."""
    hidden = nested = False
    for part in _SCRIPT_PART.finditer(html, at):
        if part[0] == "<!--":
            hidden = True
        elif part[0] == "-->":
            hidden = nested = False
        elif not part[1]:
            nested = hidden
        elif nested:
            nested = False
        else:
            end = _TAG.match(html, part.start())
            return end.end() if end else len(html)
    return len(html)


def _after(html: str, mark: str, at: int) -> int:
    found = html.find(mark, at)
    return len(html) if found < 0 else found + len(mark)
