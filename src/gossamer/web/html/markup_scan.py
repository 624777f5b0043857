"""Markup scan: what a page looks like, by one scan of its tags and without a tree.

The scan takes linear time whatever the nesting, and ends as soon as there is more prose than any rule asks
for. It is not a parser: it is right about ordinary pages, and harmless on all others.
"""

import re
from collections import Counter
from html import unescape
from typing import Final

from msgspec import Struct, field

from gossamer.web.html.elements.visibility import style_hides
from gossamer.web.html.shadow import flatten_shadow_roots

MAX_SCANNED_CHARS: Final = 2_000_000
MAX_TAGS: Final = 50_000
MAX_MARKUP_CHARS: Final = 64_000
MAX_TEXT_CHARS: Final = 8_000  # of any one part
MAX_LABELS: Final = 100
MAX_LABEL_CHARS: Final = 100


class MarkupScan(Struct, frozen=True):
    title: str
    headings: tuple[str, ...]  # the first few of level 1 and 2
    visible: int  # the weight of all visible text
    text: (
        str  # the visible text without labels and navigation, one block a line; of links, those in sentences
    )
    prose: int  # its weight without links
    labels: tuple[str, ...]  # of links and buttons outside navigation
    buttons: tuple[str, ...]  # those of buttons
    noscript: str
    markup: str  # telltale attributes and the beginnings of scripts, in lower case
    scripts: int
    links: int
    images: int
    frames: int
    furniture: int  # elements of a real site: navigation, articles, code
    refresh: bool  # a meta tag redirects elsewhere
    fields: Counter[str]  # form fields by type
    main_fields: Counter[str]  # those outside headers, footers and side columns
    mounted: int | None  # the weight of the text in the element that an application fills; None without one


def scan_markup(html: str, *, enough: int) -> MarkupScan:
    """Scan a page until there is `enough` prose."""
    return _MarkupScanner(enough).run(flatten_shadow_roots(html[:MAX_SCANNED_CHARS]))


def weight(text: str) -> int:
    """Measure a text in letters of an alphabet; an ideograph counts as three."""
    if text.isascii():
        return len(text)
    return 3 * len(text) - 2 * len(_WIDE.sub("", text))


_WIDE: Final = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff]+")

# The page is cut after its last `>`, so every tag that begins also ends, and nothing is scanned twice.
_TOKEN: Final = re.compile(
    r"<!--|<[!?]|<(/?)([A-Za-z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)>"
)
_ATTRIBUTE: Final = re.compile(r"([^\s=/\"'>]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?+")
_MOUNT_IDS: Final = (
    "root", "app", "application", "app-root", "app-mount", "approot", "react-root", "react-app", "__next",
    "__nuxt", "___gatsby", "svelte", "q-app", "ember-app", "vue-app", "main-app", "mount", "content-root",
    "spa-root",
)  # fmt: skip
_MOUNT_ATTRIBUTES: Final = ("data-reactroot", "ng-app", "ng-version", "ng-view", "data-server-rendered")
# Attributes are searched in lower case. What begins with a letter is found much faster than what begins with
# the edge of a word, so that is asked for behind the word.
_MOUNT: Final = re.compile(
    rf"id(?<!\wid)\s*=\s*[\"']?(?:{'|'.join(_MOUNT_IDS)}|single-spa[\w:-]*)(?=[\"'\s>]|$)|"
    + "|".join(rf"{name}(?<!\w{name})\b" for name in _MOUNT_ATTRIBUTES)
)
_MOUNT_NAMES: Final = frozenset(
    {"app-root", "my-app", "ion-app", "app-main", "app-shell", "root-app", "flutter-view"}
)
# The same as a CSS selector, for callers that have a tree.
MOUNT_SELECTOR: Final = ", ".join(
    (
        *(f"#{name}" for name in _MOUNT_IDS),
        "[id^=single-spa]",
        *(f"[{name}]" for name in _MOUNT_ATTRIBUTES),
        *sorted(_MOUNT_NAMES),
    )
)
_MAY_MOUNT: Final = frozenset({"div", "main", "section", "body", "html"})
_SKIPPED: Final = frozenset(
    {"script", "style", "textarea", "title", "template", "svg", "iframe", "xmp", "noframes", "object", "math"}
)
_TELLTALE_TAGS: Final = frozenset(
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
_NOT_PROSE: Final = frozenset(
    {"nav", "header", "footer", "aside", "select", "button", "label", "menu", "dialog"}
)
_MAY_HIDE: Final = frozenset({"div", "section", "p", "span", "h1", "h2", "form", "dialog"})
_AROUND: Final = frozenset({"nav", "header", "footer", "aside", "dialog", "menu"})  # the site around the page
_INLINE: Final = frozenset(
    {
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "dfn", "em", "font",
        "i", "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong",
        "sub", "sup", "time", "tt", "u", "var", "wbr",
    }
)  # fmt: skip
_LEADS_IN: Final = re.compile(r"log-?[io]n|sign-?[io]n|sso|saml|oauth|openid|shibboleth|adfs")
_HEADINGS: Final = frozenset({"h1", "h2"})
_CLOSING: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _SKIPPED}
_NOT_FILLED_IN: Final = frozenset({"hidden", "submit", "button", "image", "reset", "checkbox", "radio"})


class _MarkupScanner(Struct):
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
    main_fields: Counter[str] = field(default_factory=Counter)
    labels: list[str] = field(default_factory=list)
    buttons: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)  # texts of links since the block began, without a sentence
    beside: Counter[str] = field(default_factory=Counter)  # open elements without prose
    quiet: int = 0  # how many of them there are
    around: int = 0  # how many of them are the site around the page
    in_line: bool = False  # whether the last text and the next one are in the same block
    hidden: str = ""  # the name of the open hidden element
    hidden_depth: int = 0
    heading: str = ""
    link: bool = False
    noscript: bool = False
    refresh: bool = False
    mounted_at: int | None = None

    def run(self, html: str) -> MarkupScan:
        end = html.rfind(">") + 1
        self._scan(html, end)
        return self._result()

    def _scan(self, html: str, end: int) -> None:
        at = 0
        for _ in range(MAX_TAGS):
            token = _TOKEN.search(html, at, end)
            self._text(html[at : token.start() if token else len(html)])
            if token is None or self.prose >= self.enough:
                return
            at = self._after(html, token, end)
            if at < 0:
                return

    def _after(self, html: str, token: re.Match[str], end: int) -> int:
        """Return the position after a token, or -1 if there is nothing left to read."""
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
        self._take_raw_text(name, html[token.end() : closing.start() if closing else end][:MAX_TEXT_CHARS])
        return closing.start() if closing else -1

    def _open(self, name: str, attributes: str) -> None:
        self._keep_markup(name, attributes)
        self.counts[name] += 1
        if self.hidden:
            self.hidden_depth += name == self.hidden
            return
        if name in _MAY_HIDE and _hides(attributes):
            self.hidden, self.hidden_depth = name, 1
            return
        self._enter(name, attributes)

    def _enter(self, name: str, attributes: str) -> None:
        if (self.in_line or self.links) and name not in _INLINE:
            self._break_line()
        if name in _NOT_PROSE:
            self._enter_beside(name)
        elif name in ("main", "article"):
            self.beside.clear()  # a header that was never closed
            self.quiet = self.around = 0
        elif name in _HEADINGS:
            self.heading = name
            self.headings.append("")
        elif name == "a":
            self.link = True
            self._add_label(self.labels, "")
        elif name == "noscript":
            self.noscript = True
        elif name in ("input", "meta"):
            self._element(name, attributes)
        elif name == "textarea":
            self.fields[name] += 1
        if self.mounted_at is None and _is_mount(name, attributes):
            self.mounted_at = self.visible

    def _enter_beside(self, name: str) -> None:
        self.beside[name] += 1
        self.quiet += 1
        self.around += name in _AROUND
        if name == "button":
            self._add_label(self.buttons, "")

    def _leave_beside(self, name: str) -> None:
        if self.beside[name]:
            self.beside[name] -= 1
            self.quiet -= 1
            self.around -= name in _AROUND

    def _add_label(self, labels: list[str], label: str) -> None:
        if not self.around and len(labels) < MAX_LABELS:
            labels.append(label)

    def _break_line(self) -> None:
        """A block begins or ends: links that are a block of their own are not text."""
        if self.in_line:
            self.seen.append("\n")
        self.in_line = False
        self.links.clear()

    def _close(self, name: str) -> None:
        if self.hidden:
            self.hidden_depth -= name == self.hidden
            if self.hidden_depth == 0:
                self.hidden = ""
            return
        if (self.in_line or self.links) and name not in _INLINE:
            self._break_line()
        if name in _NOT_PROSE:
            self._leave_beside(name)
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
        elif kind == "submit":
            self._add_label(self.buttons, unescape(values.get("value", ""))[:MAX_LABEL_CHARS])
        elif kind not in _NOT_FILLED_IN and "captcha" not in attributes.lower():
            self._count_field("new-password" if "new-password" in values.get("autocomplete", "") else kind)

    def _count_field(self, kind: str) -> None:
        self.fields[kind] += 1
        if not self.around:
            self.main_fields[kind] += 1

    def _keep_markup(self, name: str, attributes: str) -> None:
        telltale = name in _TELLTALE_TAGS or (name == "a" and self._leads_in(attributes))
        if telltale and attributes and self.kept_markup < MAX_MARKUP_CHARS:
            self.markup.append(f"<{name}{attributes[:2000]}>")
            self.kept_markup += len(self.markup[-1])

    def _leads_in(self, attributes: str) -> bool:
        """Whether one of the first links outside navigation leads to a log-in."""
        return (
            not self.around
            and len(self.labels) < MAX_LABELS
            and _LEADS_IN.search(attributes.lower()) is not None
        )

    def _take_raw_text(self, name: str, content: str) -> None:
        if name == "title":
            self.titles.append(_one_line(content))
        elif name == "script" and self.kept_markup < MAX_MARKUP_CHARS:
            self.markup.append(content)
            self.kept_markup += len(content)

    def _text(self, raw: str) -> None:
        if self.hidden or not raw or raw.isspace():
            return
        text = _one_line(raw)
        if self.noscript:
            self.noscripts.append(text[:MAX_TEXT_CHARS])
            return
        if self.heading:
            self.headings[-1] = f"{self.headings[-1]} {text}".strip()[:300]
        amount = weight(text)
        self.visible += amount
        if self.link or (self.quiet and self.beside["button"]):
            self._take_label(text)
        elif not self.quiet:
            self.prose += amount
            self._take_words(text)

    def _take_label(self, text: str) -> None:
        """The text of a link is also text, where there is a sentence around it in the same block."""
        is_button = self.quiet and self.beside["button"]
        if not self.around:
            _extend(self.buttons if is_button else self.labels, text)
        if self.in_line:
            self.seen.append(text)
        elif not self.quiet:
            self.links.append(text)

    def _take_words(self, text: str) -> None:
        if self.links:
            self.seen += self.links
            self.links.clear()
        self.seen.append(text)
        self.in_line = True

    def _result(self) -> MarkupScan:
        counts = self.counts
        return MarkupScan(
            title=next(filter(None, self.titles), "")[:300],
            headings=tuple(filter(None, self.headings))[:4],
            visible=self.visible,
            text=_join_lines(self.seen)[:MAX_TEXT_CHARS],
            prose=self.prose,
            labels=tuple(filter(None, (*self.labels, *self.buttons))),
            buttons=tuple(filter(None, self.buttons)),
            noscript=" ".join(self.noscripts)[:MAX_TEXT_CHARS],
            markup="\n".join(self.markup).lower()[:MAX_MARKUP_CHARS],
            scripts=counts["script"],
            links=counts["a"],
            images=counts["img"] + counts["svg"] + counts["picture"] + counts["video"] + counts["canvas"],
            frames=counts["frame"] + counts["iframe"],
            furniture=counts["nav"] + counts["article"] + counts["pre"] + counts["code"],
            refresh=self.refresh,
            fields=self.fields,
            main_fields=self.main_fields,
            mounted=None if self.mounted_at is None else self.visible - self.mounted_at,
        )


def _is_mount(name: str, attributes: str) -> bool:
    return name in _MOUNT_NAMES or (name in _MAY_MOUNT and _MOUNT.search(attributes.lower()) is not None)


def _values(attributes: str) -> dict[str, str]:
    return {
        match[1].lower(): (match[2] or match[3] or match[4] or "").lower()
        for match in _ATTRIBUTE.finditer(attributes[:2000])
    }


def _hides(attributes: str) -> bool:
    lowered = attributes.lower()
    if "hidden" not in lowered and "style" not in lowered:
        return False
    values = _values(attributes)
    return "hidden" in values or style_hides(values.get("style", ""))


def _extend(labels: list[str], text: str) -> None:
    if labels and len(labels[-1]) < MAX_LABEL_CHARS:
        labels[-1] = f"{labels[-1]} {text}".strip()[:MAX_LABEL_CHARS]


def _join_lines(pieces: list[str]) -> str:
    return " ".join(pieces).replace(" \n ", "\n").strip()


def _one_line(raw: str) -> str:
    return " ".join((unescape(raw) if "&" in raw else raw).split())
