"""Inline Markdown: emphasis, code, links, images, formulas and line breaks."""

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gossamer.web.html.links import Addresses
from gossamer.web.html.tree import BLOCKS, Element
from gossamer.web.markdown.images import Image, image_of

BREAK: Final = "\x1e"  # a line break, until the block writes it in its own way
_MARKERS: Final = {
    **dict.fromkeys(("b", "strong"), "**"),
    **dict.fromkeys(("em", "i", "dfn", "cite", "var"), "*"),
    **dict.fromkeys(("del", "s", "strike"), "~~"),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), "`"),
}
_WORDLESS: Final = re.compile(r"\W+")
_SPACES: Final = re.compile(r"[ \t\n\r\f\xa0]+")
_AROUND_BREAK: Final = re.compile(r" *\x1e *")
_SPECIAL: Final = re.compile(r"[\\`*_\[\]<&~]")
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ENTITY: Final = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")
_UNMOVABLE: Final = frozenset("[]()`<>!*~\\$" + BREAK)
_SELF_LINKS: Final = frozenset(("", "¶", "#", "§", "🔗", "⚓", "\uf0c1", "link", "permalink", "anchor"))
_BACK_LINKS: Final = frozenset(("↩", "↩︎", "↑", "^", "⤴", "⏎", "back"))
_SELF_LINK_NAMES: Final = re.compile(
    r"(?:^|[\s_-])(?:headerlink|header-anchor|heading-anchor|anchorjs-link|footnote-backref|reversefootnote|fn-backlink"
    r"|viewcode-link|copybtn|srclink|mw-editsection|test-arrow)(?:$|[\s_-])"
)


class InlinePiece(NamedTuple):
    text: str
    marker: str = ""  # written before and after the text


@dataclass(slots=True)
class Inline:
    """Writes the inline content of one page."""

    addresses: Addresses
    left_out: set[int]
    notes: dict[str, str] = field(default_factory=dict)  # labels of footnotes by id

    def render(self, nodes: "list[Element | str]") -> str:
        """Return the nodes as one run of text, stripped; line breaks are still `BREAK`."""
        return tidy(_write(self._pieces(nodes, "")))

    def label(self, nodes: "list[Element | str]") -> str:
        """Return the nodes on a single line."""
        return " ".join(self.render(nodes).replace(BREAK, " ").split())

    def _pieces(self, nodes: "list[Element | str]", within: str) -> list[InlinePiece]:
        pieces: list[InlinePiece] = []
        for node in nodes:
            if isinstance(node, str):
                pieces.append(InlinePiece(escape(node)))
            elif id(node) not in self.left_out:
                pieces.extend(self._element(node, within))
        return pieces

    def _element(self, element: Element, within: str) -> list[InlinePiece]:
        tag = element.tag
        if tag == "br":
            return [InlinePiece(BREAK)]
        if tag == "a":
            return self._link(element, within)
        if tag == "img":
            image = image_of(element, self.addresses)
            return [InlinePiece(_image(image))] if image else []
        if tag in ("math", "script"):
            return [InlinePiece(_formula(element))]
        marker = _MARKERS.get(tag)
        if marker == "`":
            return self._code(element)
        if marker and marker not in within.split(","):
            return _emphasise(
                tidy_inside(_write(self._pieces(element.children, f"{within},{marker}"))), marker
            )
        return self._other(element, within)

    def _other(self, element: Element, within: str) -> list[InlinePiece]:
        pieces = self._pieces(element.children, within)
        tag = element.tag
        if tag in ("sub", "sup"):
            text = _write(pieces).strip()
            return [InlinePiece(text if not text or text.startswith("[^") else f"<{tag}>{text}</{tag}>")]
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
        note = self.notes.get(reference[1:]) if reference.startswith("#") else None
        if note is not None:
            return [InlinePiece(f"[^{note}]")]
        pieces = self._pieces(anchor.children, within)
        address = self._address(anchor)
        if not address or (reference.startswith("#") and anchor.within("h1", "h2", "h3", "h4", "h5", "h6")):
            return pieces
        raw = _SPACES.sub(" ", _write(pieces).replace(BREAK, " "))
        text = raw.strip()
        if not text:
            return [InlinePiece(raw)]
        title = " ".join(anchor.get("title").split())
        titled = f' "{_escape_quotes(title)}"' if _is_informative(title, anchor.plain() + address) else ""
        link = f"[{_balance(text)}]({destination(address)}{titled})"
        return [InlinePiece(raw[: len(raw) - len(raw.lstrip())] + link + raw[len(raw.rstrip()) :])]

    def _address(self, anchor: Element) -> str:
        return self.addresses.absolute(anchor.get("href")) if anchor.get("href") else ""


def tidy(text: str) -> str:
    return tidy_inside(text).strip(" " + BREAK)


def tidy_inside(text: str) -> str:
    return _AROUND_BREAK.sub(BREAK, _SPACES.sub(" ", text))


def escape(text: str) -> str:
    """Escape plain text, but only where Markdown would read it as markup."""
    return _SPECIAL.sub(_escape, text) if _SPECIAL.search(text) else text


def _escape(match: re.Match[str]) -> str:
    text, at = match.string, match.start()
    sign, before, after = match[0], text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
    if sign == "`":
        needed = True
    elif sign == "\\":
        needed = after in _PUNCTUATION
    elif sign == "*":
        needed = not (before.isspace() and after.isspace())
    elif sign == "_":
        needed = not (before.isalnum() and after.isalnum()) and not (before.isspace() and after.isspace())
    elif sign == "[":
        needed = after == "^"
    elif sign == "]":
        needed = after in "([:"
    elif sign == "<":
        needed = after.isalpha() or after in "/!?"
    elif sign == "&":
        needed = _ENTITY.match(text, at) is not None
    else:
        needed = "~" in (before, after)
    return "\\" + sign if needed else sign


def code_span(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def destination(address: str) -> str:
    if any(sign in address for sign in " <>\n") or address.count("(") != address.count(")"):
        for sign, code in ((" ", "%20"), ("<", "%3C"), (">", "%3E"), ("(", "%28"), (")", "%29"), ("\n", "")):
            address = address.replace(sign, code)
    return address


def _write(pieces: list[InlinePiece]) -> str:
    """Join the pieces, with markers that Markdown recognises where they are."""
    merged: list[InlinePiece] = []
    for piece in pieces:
        if not piece.text:
            continue
        if merged and piece.marker and merged[-1].marker == piece.marker:
            merged[-1] = InlinePiece(merged[-1].text + piece.text, piece.marker)
        elif merged and _run_together(merged[-1], piece):
            merged.append(InlinePiece(piece.text))
        else:
            merged.append(piece)
    out: list[str] = []
    for at, piece in enumerate(merged):
        following = merged[at + 1] if at + 1 < len(merged) else InlinePiece("")
        before = out[-1][-1:] if out else ""
        out.append(_mark(piece, before, following.marker[:1] or following.text[:1]))
    return "".join(out)


def _run_together(one: InlinePiece, other: InlinePiece) -> bool:
    """Whether the markers of two neighbours would be read as one."""
    both = one.marker not in ("", "`") and other.marker not in ("", "`")
    return both and not one.text[-1].isspace() and not other.text[0].isspace()


def _mark(piece: InlinePiece, before: str, after: str) -> str:
    text, marker = piece
    if not marker:
        return ("\\" + text) if before == "!" and text.startswith("[") else text
    core = text.strip()
    if not core:
        return text
    lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if marker == "`":
        return f"{lead}{code_span(core)}{trail}"
    if not lead and _is_letter(before) and not core[0].isalnum():
        return _shift_mark(text, marker, before, after, first=True)
    if not trail and _is_letter(after) and not core[-1].isalnum():
        return _shift_mark(text, marker, before, after, first=False)
    return f"{lead}{marker}{core}{marker}{trail}"


def _shift_mark(text: str, marker: str, before: str, after: str, *, first: bool) -> str:
    """Move a sign out of the markers, or drop them: no marker works between a letter and a sign."""
    sign = text[0] if first else text[-1]
    if sign in _UNMOVABLE or len(text) == 1:
        return text
    if first:
        return sign + _mark(InlinePiece(text[1:], marker), sign, after)
    return _mark(InlinePiece(text[:-1], marker), before, sign) + sign


def _emphasise(text: str, marker: str) -> list[InlinePiece]:
    """Mark each paragraph separately."""
    if BREAK not in text:
        return [InlinePiece(text, marker)]
    parts = re.split(f"({BREAK}+)", text)
    return [InlinePiece(part) if part.startswith(BREAK) else InlinePiece(part, marker) for part in parts]


def _is_letter(sign: str) -> bool:
    return bool(sign) and sign.isalnum()


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
    depth = 0
    for sign in re.findall(r"(?<!\\)[\[\]]", text):
        depth += 1 if sign == "[" else -1
        if depth < 0:
            break
    return text if depth == 0 else re.sub(r"(?<!\\)([\[\]])", r"\\\1", text)


def _is_informative(title: str, known: str) -> bool:
    """Whether a title adds anything to the text and the URL."""
    return bool(title) and _WORDLESS.sub("", title.casefold()) not in _WORDLESS.sub("", known.casefold())


def _escape_quotes(title: str) -> str:
    return title.replace("\\", "\\\\").replace('"', '\\"')


def _image(image: Image) -> str:
    title = f' "{_escape_quotes(image.title)}"' if image.title and image.title != image.alt else ""
    return f"![{_balance(escape(image.alt))}]({destination(image.url)}{title})"


def _formula(element: Element) -> str:
    tex = " ".join("".join(element.texts()).split())
    if tex.startswith("{\\displaystyle") and tex.endswith("}"):
        tex = tex.removeprefix("{\\displaystyle").removesuffix("}").strip()
    if not tex:
        return ""
    block = element.get("display") == "block" or "display" in element.get("type")
    return f"$${tex}$$" if block else f"${tex}$"
