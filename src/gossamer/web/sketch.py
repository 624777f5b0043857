"""Sketch: what a page looks like at a glance, by one scan of its tags and no tree.

The scan takes linear time whatever the nesting, and ends as soon as there is more running text than any rule
asks about. It is no parser: it is right about pages as they are written, and harmless about the others.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from html import unescape
from typing import Final

from gossamer.web.shadow import composed
from gossamer.web.unseen import style_hides

LONGEST: Final = 2_000_000  # characters that are looked at
MOST_TAGS: Final = 50_000
MOST_MARKUP: Final = 64_000
MOST_TEXT: Final = 8_000  # characters that are kept of any one thing


@dataclass(frozen=True, slots=True)
class Sketch:
    title: str
    headings: tuple[str, ...]  # the first few of level 1 and 2
    visible: int  # the weight of all text that can be seen
    text: str  # what of it is neither link nor label nor navigation, in one line
    prose: int  # its weight
    noscript: str
    markup: str  # attributes that may tell, and the beginnings of scripts, in lower case
    scripts: int
    links: int
    images: int
    frames: int
    furniture: int  # elements of a site or a document: navigation, articles, code
    refresh: bool  # sends its reader elsewhere by a meta tag
    fields: Counter[str]  # what can be filled in, by type
    mounted: (
        int | None
    )  # the weight of the text in the element that an application fills; None: there is none


def glance(html: str, *, enough: int) -> Sketch:
    """The sketch of a page, as far as it takes to see `enough` prose."""
    return _Scan(enough).run(composed(html[:LONGEST]))


def weight(text: str) -> int:
    """How much a text says, in letters of an alphabet: an ideograph says about as much as three."""
    if text.isascii():
        return len(text)
    return 3 * len(text) - 2 * len(_WIDE.sub("", text))


_WIDE: Final = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff]+")

# Cut after its last `>`, a page has no beginning of a tag that this does not match to its end, so nothing is
# looked at twice.
_TOKEN: Final = re.compile(
    r"<!--|<[!?]|<(/?)([A-Za-z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)>"
)
_ATTRIBUTE: Final = re.compile(r"([^\s=/\"'>]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?+")
_MAY_BE_HIDDEN: Final = re.compile(r"hidden|style", re.IGNORECASE)
_MOUNT: Final = re.compile(
    r"\bid\s*=\s*[\"']?(?:root|app|application|app-root|app-mount|approot|react-root|react-app|__next|__nuxt"
    r"|___gatsby|svelte|q-app|ember-app|vue-app|main-app|mount|content-root|spa-root|single-spa[\w:-]*)"
    r"(?=[\"'\s>]|$)|\bdata-reactroot|\bng-(?:app|version)\b|\bng-view\b|\bdata-server-rendered",
    re.IGNORECASE,
)
_MOUNT_NAMES: Final = frozenset(
    {"app-root", "my-app", "ion-app", "app-main", "app-shell", "root-app", "flutter-view"}
)
_MAY_MOUNT: Final = frozenset({"div", "main", "section", "body", "html"})
_SKIPPED: Final = frozenset(
    {"script", "style", "textarea", "title", "template", "svg", "iframe", "xmp", "noframes", "object", "math"}
)
_TELLING: Final = frozenset(
    {
        "script",
        "iframe",
        "form",
        "input",
        "meta",
        "link",
        "img",
        "html",
        "body",
        "div",
        "main",
        "section",
        "p",
    }
)
_ASIDE: Final = frozenset({"nav", "header", "footer", "aside", "select", "button", "label", "menu", "dialog"})
_MAY_HIDE: Final = frozenset({"div", "section", "p", "span", "h1", "h2", "form", "dialog"})
_HEADINGS: Final = frozenset({"h1", "h2"})
_CLOSING: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _SKIPPED}
_NOT_FILLED_IN: Final = frozenset({"hidden", "submit", "button", "image", "reset", "checkbox", "radio"})


@dataclass(slots=True)
class _Scan:
    enough: int
    titles: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    noscripts: list[str] = field(default_factory=list)
    markup: list[str] = field(default_factory=list)
    kept_markup: int = 0
    visible: int = 0
    prose: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    beside: Counter[str] = field(default_factory=Counter)  # open elements that hold no prose
    hidden: str = ""  # the name of the element that hides what is in it
    hidden_depth: int = 0
    heading: str = ""
    link: bool = False
    noscript: bool = False
    refresh: bool = False
    mounted_at: int | None = None

    def run(self, html: str) -> Sketch:
        end = html.rfind(">") + 1
        self._scan(html, end)
        return self._sketch()

    def _scan(self, html: str, end: int) -> None:
        at = 0
        for _ in range(MOST_TAGS):
            token = _TOKEN.search(html, at, end)
            self._text(html[at : token.start() if token else len(html)])
            if token is None or self.prose >= self.enough:
                return
            at = self._after(html, token, end)
            if at < 0:
                return

    def _after(self, html: str, token: re.Match[str], end: int) -> int:
        """Where to go on behind a token; -1: nothing is to be read behind it."""
        if token[2] is None:
            closed = "-->" if token[0] == "<!--" else ">"
            found = html.find(closed, token.start() + 2, end)
            return found + len(closed) if found >= 0 else -1
        name = token[2].lower()
        if token[1]:
            self._close(name)
            return token.end()
        self._open(name, token[3])
        if name not in _SKIPPED or (token[3].endswith("/") and name in ("svg", "math")):
            return token.end()
        closing = _CLOSING[name].search(html, token.end(), end)
        self._inside(name, html[token.end() : closing.start() if closing else end][:MOST_TEXT])
        return closing.start() if closing else -1

    def _open(self, name: str, attributes: str) -> None:
        self._mark(name, attributes)
        self.counts[name] += 1
        if self.hidden:
            self.hidden_depth += name == self.hidden
            return
        if name in _MAY_HIDE and _hides(attributes):
            self.hidden, self.hidden_depth = name, 1
            return
        self._enter(name, attributes)

    def _enter(self, name: str, attributes: str) -> None:
        if name in _ASIDE:
            self.beside[name] += 1
        elif name in ("main", "article"):
            self.beside.clear()  # a header that was never closed
        elif name in _HEADINGS:
            self.heading = name
            self.headings.append("")
        elif name == "a":
            self.link = True
        elif name == "noscript":
            self.noscript = True
        elif name in ("input", "meta"):
            self._element(name, attributes)
        elif name == "textarea":
            self.fields[name] += 1
        if self.mounted_at is None and _is_mount(name, attributes):
            self.mounted_at = self.visible

    def _close(self, name: str) -> None:
        if self.hidden:
            self.hidden_depth -= name == self.hidden
            if self.hidden_depth == 0:
                self.hidden = ""
        elif name in _ASIDE:
            self.beside[name] = max(0, self.beside[name] - 1)
        elif name == self.heading:
            self.heading = ""
        elif name == "a":
            self.link = False
        elif name == "noscript":
            self.noscript = False

    def _element(self, name: str, attributes: str) -> None:
        values = _values(attributes)
        kind = values.get("type") or "text"
        if name == "meta":
            self.refresh = self.refresh or values.get("http-equiv") == "refresh"
        elif kind not in _NOT_FILLED_IN and "captcha" not in attributes.lower():
            self.fields[kind] += 1

    def _mark(self, name: str, attributes: str) -> None:
        if name in _TELLING and attributes and self.kept_markup < MOST_MARKUP:
            self.markup.append(f"<{name}{attributes[:2000]}>")
            self.kept_markup += len(self.markup[-1])

    def _inside(self, name: str, content: str) -> None:
        if name == "title":
            self.titles.append(_one_line(content))
        elif name == "script" and self.kept_markup < MOST_MARKUP:
            self.markup.append(content)
            self.kept_markup += len(content)

    def _text(self, raw: str) -> None:
        if self.hidden or not raw or raw.isspace():
            return
        text = _one_line(raw)
        if self.noscript:
            self.noscripts.append(text[:MOST_TEXT])
            return
        if self.heading:
            self.headings[-1] = f"{self.headings[-1]} {text}".strip()[:300]
        amount = weight(text)
        self.visible += amount
        if not self.link and not any(self.beside.values()):
            self.prose += amount
            self.seen.append(text)

    def _sketch(self) -> Sketch:
        counts = self.counts
        return Sketch(
            title=next(filter(None, self.titles), "")[:300],
            headings=tuple(filter(None, self.headings))[:4],
            visible=self.visible,
            text=" ".join(self.seen)[:MOST_TEXT],
            prose=self.prose,
            noscript=" ".join(self.noscripts)[:MOST_TEXT],
            markup="\n".join(self.markup).lower()[:MOST_MARKUP],
            scripts=counts["script"],
            links=counts["a"],
            images=counts["img"] + counts["svg"] + counts["picture"] + counts["video"] + counts["canvas"],
            frames=counts["frame"] + counts["iframe"],
            furniture=counts["nav"] + counts["article"] + counts["pre"] + counts["code"],
            refresh=self.refresh,
            fields=self.fields,
            mounted=None if self.mounted_at is None else self.visible - self.mounted_at,
        )


def _is_mount(name: str, attributes: str) -> bool:
    return name in _MOUNT_NAMES or (name in _MAY_MOUNT and _MOUNT.search(attributes) is not None)


def _values(attributes: str) -> dict[str, str]:
    return {
        match[1].lower(): (match[2] or match[3] or match[4] or "").lower()
        for match in _ATTRIBUTE.finditer(attributes[:2000])
    }


def _hides(attributes: str) -> bool:
    if _MAY_BE_HIDDEN.search(attributes) is None:
        return False
    values = _values(attributes)
    return "hidden" in values or style_hides(values.get("style", ""))


def _one_line(raw: str) -> str:
    return " ".join((unescape(raw) if "&" in raw else raw).split())
