"""Code blocks: the lines of code without line numbers, and the language of the code."""

import re
from typing import Final

from gossamer.web.html.elements.element import Element
from gossamer.web.html.vocabulary import tags

_LINE_END: Final = "\x1f"
_LANGUAGE: Final = re.compile(
    r"(?:^|\s)(?:(?:language|lang|highlight-source|highlight|code|syntax)-|brush:\s*)([\w+#.-]+)",
    re.I,
)
_NOT_LANGUAGES: Final = tags(
    "default text none plain plaintext block code highlight wrapper container notranslate box snippet "
    "line numbers linenums example copy default-code tabs tab toolbar dark light wrap nohighlight inline"
)
_NAMED: Final = tags(
    "bash c cpp css diff go html http java javascript js json kotlin php python py ruby rust rb scala sh "
    "shell sql swift toml ts typescript xml yaml yml console ini makefile perl haskell lua r julia elixir "
    "erlang clojure csharp dart groovy powershell objectivec dockerfile graphql"
)
_SAME: Final = {
    "python3": "python",
    "py": "python",
    "ipython3": "python",
    "pycon": "python",
    "pycon3": "python",
    "golang": "go",
    "c++": "cpp",
    "sourcecode": "",
}
_MARGIN: Final = re.compile(
    r"(?:^|[\s_-])(?:linenos?|line-?numbers?(?:-rows)?|gutter|lineno|ln-num|blob-num|hljs-ln-numbers|react-syntax-highlighter-line-number"
    r"|copy(?:-?btn|-?button|-to-clipboard)?|code-copy|toolbar-item|line-numbers-rows|boring)(?:$|\s)",
    re.I,
)


def code_of(element: Element) -> str:
    """Return the text of a preformatted element as it is, but without its last line break."""
    pieces: list[str] = []
    waiting: list[Element | str] = [element]
    while waiting:
        child = waiting.pop()
        if isinstance(child, str):
            if child != _LINE_END or (pieces and not pieces[-1].endswith("\n")):
                pieces.append("\n" if child == _LINE_END else child)
        elif child.tag == "br":
            pieces.append("\n")
        elif child is element or not _is_margin(child):
            if child.tag in ("div", "p", "li", "tr"):  # always a line of its own
                waiting += [_LINE_END, *reversed(child.children), _LINE_END]
            else:
                waiting += reversed(child.children)
    code = "".join(pieces).replace("\xa0", " ")
    return code.removesuffix("\n") if code.strip() else ""


def _is_margin(element: Element) -> bool:
    if not element.attributes:
        return False
    return "data-line-number" in element.attributes or bool(_MARGIN.search(element.get("class")))


def fence(code: str, language: str) -> str:
    """Put code between fences that are longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def language_of(pre: Element) -> str:
    """Return the language that the page names on the element, on the code inside, or on a wrapper."""
    inside = [
        one
        for _, one in zip(range(4), pre.walk(), strict=False)
        if one.tag in ("code", "pre") and one is not pre
    ]
    around = [one for _, one in zip(range(2), pre.above(), strict=False) if len(one.elements) <= 3]
    for element in (*inside, pre, *around):
        found = _language_named(element)
        if found:
            return found
    return ""


def _language_named(element: Element) -> str:
    for name in ("data-lang", "data-language", "lang-name"):
        if element.get(name):
            return _clean(element.get(name))
    classes = element.get("class")
    if not classes:
        return ""
    for match in _LANGUAGE.finditer(classes):
        if _clean(match[1]):
            return _clean(match[1])
    for name in classes.lower().split():
        if name in _NAMED and (
            "sourceCode" in classes or "rust" in classes or element.tag in ("pre", "code")
        ):
            return _clean(name)
    return ""


def _clean(name: str) -> str:
    name = name.strip().lower().rstrip(";,")
    if name in _NOT_LANGUAGES or not re.fullmatch(r"[\w+#.-]{1,30}", name):
        return ""
    return _SAME.get(name, name)
