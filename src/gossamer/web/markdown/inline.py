"""Inline Markdown: emphasis, code, links, images, formulas and line breaks."""

import re
from typing import Final

from msgspec import Struct, field

from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.html.links import Addresses
from gossamer.web.markdown.embeds import embed_of
from gossamer.web.markdown.emphasis import BREAK, InlinePiece, mark, merge_pieces, split_paragraphs
from gossamer.web.markdown.escape import escape, escape_quotes, escape_text
from gossamer.web.markdown.images import Image, image_of

TEXT: Final = "text"  # of a piece that is not escaped yet
_MARKERS: Final = {
    **dict.fromkeys(("b", "strong"), "**"),
    **dict.fromkeys(("em", "i", "dfn", "cite", "var"), "*"),
    **dict.fromkeys(("del", "s", "strike"), "~~"),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), "`"),
}
_NOTE_MARK: Final = re.compile(r"\[\^[^\]\s]+\]")
_BRACKETED_MARKS: Final = re.compile(r"\[((?:\[\^[^\]\s]+\][,;\s]*+)++)\](?!\()")
_WORD: Final = re.compile(r"\w")
_WORDLESS: Final = re.compile(r"\W+")
_SPACES: Final = re.compile(r"[ \t\n\r\f\xa0]{2,}|[\t\n\r\f\xa0]")  # that one space does not write alike
_BRACKETS: Final = re.compile(r"\\.|`[^`]*`|[\[\]]")
_AROUND_BREAK: Final = re.compile(r" *\x1e *")
_SELF_LINKS: Final = frozenset(("", "¶", "#", "§", "🔗", "⚓", "\uf0c1", "link", "permalink", "anchor"))
_BACK_LINKS: Final = frozenset(("↩", "↩︎", "↑", "^", "⤴", "⏎", "back"))
_SELF_LINK_NAMES: Final = re.compile(
    r"(?:^|[\s_-])(?:headerlink|header-anchor|heading-anchor|anchorjs-link|footnote-backref|reversefootnote|fn-backlink"
    r"|viewcode-link|copybtn|srclink|mw-editsection|test-arrow)(?:$|[\s_-])"
)


class Inline(Struct):
    """Writes the inline content of one page."""

    addresses: Addresses
    left_out: set[int]
    marks: dict[int, str] = field(default_factory=dict)  # labels of footnotes, by the id of their mark
    used: set[str] = field(default_factory=set)  # labels that were written

    def render(self, nodes: "list[Element | str]") -> str:
        """Return the nodes as one run of text, stripped; line breaks are still `BREAK`."""
        alone = nodes[0] if len(nodes) == 1 else None
        text = escape_text(alone) if isinstance(alone, str) else self._write(self._pieces(nodes, ""))
        text = tidy(text)
        return _BRACKETED_MARKS.sub(_unwrap_marks, text) if "[[^" in text else text

    def label(self, nodes: "list[Element | str]") -> str:
        """Return the nodes on a single line."""
        return " ".join(self.render(nodes).replace(BREAK, " ").split())

    def _pieces(self, nodes: "list[Element | str]", within: str) -> list[InlinePiece]:
        pieces: list[InlinePiece] = []
        for node in nodes:
            if isinstance(node, str):
                pieces.append(InlinePiece(node, TEXT))
            elif id(node) not in self.left_out:
                pieces.extend(self._element(node, within))
        return pieces

    def _element(self, element: Element, within: str) -> list[InlinePiece]:
        tag = element.tag
        if self.marks and (label := self.marks.get(id(element))) is not None:
            self.used.add(label)
            return [InlinePiece(f"[^{label}]")]
        if tag == "br":
            return [InlinePiece(BREAK)]
        if tag == "a":
            return self._link(element, within)
        if tag == "img":
            image = image_of(element, self.addresses)
            return [InlinePiece(_image(image))] if image else []
        if tag == "math":
            return [InlinePiece(_formula(element))]
        if tag in ("iframe", "video", "audio"):
            return [InlinePiece(self._embedded(element))]
        marker = _MARKERS.get(tag)
        if marker == "`":
            return self._code(element)
        if marker and marker not in within.split(","):
            return split_paragraphs(
                tidy_inside(self._write(self._pieces(element.children, f"{within},{marker}"), edge="*")),
                marker,
            )
        return self._other(element, within)

    def _other(self, element: Element, within: str) -> list[InlinePiece]:
        pieces = self._pieces(element.children, within)
        tag = element.tag
        if tag in ("sub", "sup"):
            text = self._write(pieces, edge="<").strip()
            marks = _NOTE_MARK.findall(text) if "[^" in text else []
            if marks and not _WORD.search(_NOTE_MARK.sub("", text)):
                return [InlinePiece("".join(marks))]
            return [InlinePiece(f"<{tag}>{text}</{tag}>" if text else "")]
        if tag == "q":
            return [InlinePiece("“"), *pieces, InlinePiece("”")]
        if tag in BLOCKS:  # a block inside a line
            return [
                InlinePiece(" " if tag in ("td", "th") else BREAK),
                *pieces,
                InlinePiece(" " if tag in ("td", "th") else BREAK),
            ]
        return pieces

    def _code(self, element: Element) -> list[InlinePiece]:
        links = [one for one in element.walk() if one.tag == "a" and one.text == element.text]
        text = _SPACES.sub(" ", "".join(element.texts()))
        if not text.strip():
            return [InlinePiece(" ")] if text else []
        if links and (address := self._address(links[0])):
            return [InlinePiece(f"[{code_span(text.strip())}]({destination(address)})")]
        return [InlinePiece(text, "`")]

    def _link(self, anchor: Element, within: str) -> list[InlinePiece]:
        if is_self_link(anchor):
            return []
        reference = anchor.get("href")
        pieces = self._pieces(anchor.children, within)
        address = self._address(anchor)
        if not address or (reference.startswith("#") and anchor.within("h1", "h2", "h3", "h4", "h5", "h6")):
            return pieces
        raw = _SPACES.sub(" ", self._write(pieces, edge="]").replace(BREAK, " "))
        text = raw.strip()
        if not text:
            return [InlinePiece(raw)]
        title = " ".join(anchor.get("title").split())
        titled = f' "{escape_quotes(title)}"' if _is_informative(title, anchor.plain() + address) else ""
        link = f"[{_balance(text)}]({destination(address)}{titled})"
        return [InlinePiece(raw[: len(raw) - len(raw.lstrip())] + link + raw[len(raw.rstrip()) :])]

    def _embedded(self, element: Element) -> str:
        found = embed_of(element, self.addresses)
        return f"[{_balance(escape(found.title))}]({destination(found.url)})" if found else ""

    def _address(self, anchor: Element) -> str:
        return self.addresses.absolute(anchor.get("href")) if anchor.get("href") else ""

    def _write(self, pieces: list[InlinePiece], edge: str = " ") -> str:
        """Join the pieces; `edge` is the character that stands before and after them."""
        merged = merge_pieces(pieces)
        out: list[str] = []
        before = edge
        for at, (text, marker) in enumerate(merged):
            following = merged[at + 1] if at + 1 < len(merged) else InlinePiece(edge, TEXT)
            after = following.text[0] if following.marker in ("", TEXT) else following.marker[0]
            if marker == TEXT:
                text = escape_text(text, before, after)
                if text[-1] == "!" and not following.marker and after == "[":
                    text = text[:-1] + "\\!"  # else the link is read as an image
            elif marker == "`":
                text = _mark_code(text)
            elif marker:
                text = mark(text, marker, before, after)
            out.append(text)
            before = text[-1]
        return "".join(out)


def _unwrap_marks(match: re.Match[str]) -> str:
    return "".join(_NOTE_MARK.findall(match[1]))


def tidy(text: str) -> str:
    return tidy_inside(text).strip(" " + BREAK)


def tidy_inside(text: str) -> str:
    if "  " in text or not text.isprintable():  # of white space, only the space is printable
        text = _SPACES.sub(" ", text)
    return _AROUND_BREAK.sub(BREAK, text) if BREAK in text else text


def code_span(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def _mark_code(text: str) -> str:
    """Write code with the spaces at its ends outside of it."""
    core = text.strip()
    return text.replace(core, code_span(core), 1) if core else text


def destination(address: str) -> str:
    if any(sign in address for sign in " <>\n") or address.count("(") != address.count(")"):
        for sign, code in ((" ", "%20"), ("<", "%3C"), (">", "%3E"), ("(", "%28"), (")", "%29"), ("\n", "")):
            address = address.replace(sign, code)
    return address


def is_self_link(anchor: Element) -> bool:
    """Whether a link beside a heading or footnote points to the heading or footnote itself."""
    named = anchor.get("class")
    if named and (_SELF_LINK_NAMES.search(named) or _has_viewcode(anchor)):
        return True
    if not anchor.get("href").startswith("#") or anchor.text > 12:
        return False
    text = anchor.plain().lower()
    return text in _BACK_LINKS or (text in _SELF_LINKS and anchor.find("img") is None)


def _has_viewcode(anchor: Element) -> bool:
    return any(one.get("class") == "viewcode-link" for one in anchor.elements)


def _balance(text: str) -> str:
    """Escape the brackets in the text of a link, if they do not match; those in code do not count."""
    depth = 0
    for sign in _BRACKETS.findall(text):
        depth += (sign == "[") - (sign == "]")
        if depth < 0:
            break
    return text if depth == 0 else _BRACKETS.sub(_escape_bracket, text)


def _escape_bracket(match: re.Match[str]) -> str:
    return "\\" + match[0] if match[0] in "[]" else match[0]


def _is_informative(title: str, known: str) -> bool:
    """Whether a title adds anything to the text and the URL."""
    return bool(title) and _WORDLESS.sub("", title.casefold()) not in _WORDLESS.sub("", known.casefold())


def _image(image: Image) -> str:
    title = f' "{escape_quotes(image.title)}"' if image.title and image.title != image.alt else ""
    return f"![{_balance(escape(image.alt))}]({destination(image.url)}{title})"


def _formula(element: Element) -> str:
    tex = "".join(element.texts())
    if not tex:
        return ""
    return f"$${tex}$$" if element.get("display") == "block" else f"${tex}$"
