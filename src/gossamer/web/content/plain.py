"""The content as plain text, with a line for every block."""

from typing import Final

from gossamer.web.content.main.content import Content
from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.html.vocabulary import tags
from gossamer.web.search.passages import MARK, PERMALINKS, MarkedHeading, OutlinedText, take_marks

HEADINGS: Final = tags("h1 h2 h3 h4 h5 h6")
_PARAGRAPHS: Final = tags("p h1 h2 h3 h4 h5 h6 blockquote pre ul ol dl table figure section article")


def plain_text(content: Content, title: str) -> str:
    return outlined_text(content, title).text


def outlined_text(content: Content, title: str) -> OutlinedText:
    """Return the text of the content, without captions and headings that only repeat the title."""
    left_out = content.left_out
    pieces: list[str] = []
    headings: list[MarkedHeading] = []
    waiting: list[Element | str] = [content.root]
    while waiting:
        child = waiting.pop()
        if isinstance(child, str):
            pieces.append(child)
        elif id(child) in left_out or _is_caption(child) or (child.tag == "h1" and child.plain() == title):
            pieces.append(" ")
        elif child.tag == "br":
            pieces.append("\n")
        elif child.tag in BLOCKS:
            edge = "\n\n" if child.tag in _PARAGRAPHS else " " if child.tag in ("td", "th") else "\n"
            pieces.append(edge)
            if child.tag in HEADINGS and (heading := _marked(child)):
                headings.append(heading)
                pieces.append(MARK)
            waiting.append(edge)
            waiting.extend(reversed(child.children))
        else:
            waiting.extend(reversed(child.children))
    return take_marks(tidy("".join(pieces)), headings)


def _marked(heading: Element) -> MarkedHeading | None:
    text = heading.plain().rstrip(PERMALINKS)
    return MarkedHeading(text, int(heading.tag[1:]), _anchor_of(heading)) if text else None


def _anchor_of(heading: Element) -> str:
    """The id of the heading, or of the section that it opens."""
    parent = heading.parent
    opens = parent is not None and next((one for one in parent.children if one != " "), None) is heading
    return heading.get("id") or (parent.get("id") if parent is not None and opens else "")


def _is_caption(element: Element) -> bool:
    return element.tag == "figcaption" or "caption" in element.get("class").lower()


def tidy(text: str) -> str:
    """Strip every line, and merge empty lines."""
    lines: list[str] = []
    for line in text.replace("\xa0", " ").split("\n"):
        line = line.strip()
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip()
