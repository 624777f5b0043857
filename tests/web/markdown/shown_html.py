"""What HTML shows, as far as Markdown has a notation for it: two pages that show the same are equal."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.html.links import Addresses
from gossamer.web.html.vocabulary import tags

HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
BLOCKS = HEADINGS | tags("p pre ul ol li blockquote hr table thead tbody tr td th")
WRAPPERS = frozenset(("div", "section", "article", "main", "body", "dl"))
INLINE = tags("em strong del code a img br sub sup")
SAME = {"b": "strong", "i": "em", "s": "del", "strike": "del"}
UNSHOWN = frozenset(("script", "style", "textarea", "-comment", "-cdata-section", "title", "meta"))
EDGE = re.compile(r"^(?: |<br>)+|(?: |<br>)+$")


class ShownHtml:
    def __init__(self, url: str) -> None:
        self._addresses = Addresses(url, "")

    def of(self, html: str) -> str:
        body = LexborHTMLParser(html).body
        return "".join(self._blocks(body)) if body is not None else ""

    def _blocks(self, node: LexborNode) -> Iterator[str]:
        """Text between blocks is a paragraph, but in items and cells."""
        bare = node.tag in ("li", "th", "p") or node.tag in HEADINGS or _is_data(node)
        run: list[str] = []
        for child in _children(node):
            if child.tag in BLOCKS or child.tag in WRAPPERS or _holds_blocks(child):
                yield from _paragraph(run, bare)
                run = []
                yield from self._block(child)
            else:
                run.append(self._inline(child, frozenset()))
        yield from _paragraph(run, bare)

    def _block(self, node: LexborNode) -> Iterator[str]:
        tag = node.tag or ""
        if tag == "hr":
            yield "<hr>"
        elif tag == "pre":
            code = node.css_first("code")
            language = (code.attributes.get("class") or "").lower() if code is not None else ""
            text = node.text().removesuffix("\n")
            if text.strip():
                yield f"<pre {language}>{text}\n</pre>"
        elif tag == "table" and node.css_first("th") is None:  # only layout
            for cell in node.css("td"):
                yield from self._blocks(cell)
        elif tag not in BLOCKS:
            yield from self._blocks(node)
        elif tag == "li" or (inside := "".join(self._blocks(node))):
            inside = "".join(self._blocks(node)) if tag == "li" else inside
            yield f"<{tag}{_details(node)}>{inside}</{tag}>"

    def _inline(self, node: LexborNode, within: frozenset[str]) -> str:
        """An emphasis within the same one, and what is empty, changes nothing."""
        if node.tag in ("-text", None):
            return re.sub(r"\s+", " ", node.text_content or "")
        tag = SAME.get(node.tag, node.tag)
        if tag == "br":
            return "<br>"
        if tag == "img":
            alt = " ".join((node.attributes.get("alt") or "").split())
            return f"<img{self._address(node, 'src')} alt={alt}>"
        inside = "".join(self._inline(child, within | {tag}) for child in _children(node))
        if tag == "code":
            inside = f" {inside.strip()} " if inside != inside.strip() else inside
        address = self._address(node, "href") if tag == "a" else ""
        if not inside.strip() or tag not in INLINE or tag in within or (tag == "a" and not address):
            return inside
        return _outside_spaces(f"<{tag}{address}>", inside, f"</{tag}>")

    def _address(self, node: LexborNode, name: str) -> str:
        address = self._addresses.absolute(node.attributes.get(name) or "")
        title = " ".join((node.attributes.get("title") or "").split())
        address = address.replace("%28", "(").replace("%29", ")")
        return f" {address} {title}" if address else ""


def _children(node: LexborNode) -> Iterator[LexborNode]:
    return (child for child in node.iter(include_text=True) if child.tag not in UNSHOWN)


def _is_data(node: LexborNode) -> bool:
    above = node.parent
    while node.tag == "td" and above is not None and above.tag != "table":
        above = above.parent
    return node.tag == "td" and above is not None and above.css_first("th") is not None


def _holds_blocks(node: LexborNode) -> bool:
    return any(child.tag in BLOCKS for child in node.traverse())


def _paragraph(run: list[str], bare: bool) -> Iterator[str]:
    text = EDGE.sub("", re.sub(r" *<br> *", "<br>", re.sub(" +", " ", "".join(run))))
    if text:
        yield text if bare else f"<p>{text}</p>"


def _outside_spaces(begin: str, text: str, end: str) -> str:
    lead, trail = " " * (text[0] == " "), " " * (text[-1] == " ")
    return f"{lead}{begin}{text.strip()}{end}{trail}"


def _details(node: LexborNode) -> str:
    if node.tag == "ol":
        return f" {node.attributes.get('start') or 1}"
    if node.tag in ("td", "th"):
        style = (node.attributes.get("style") or "").partition(":")[2]
        return f" {node.attributes.get('align') or style}"
    return ""
