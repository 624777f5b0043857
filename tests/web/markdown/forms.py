"""Forms that pages give to the same thing, from a data file: name, HTML and the Markdown that is expected."""

import re
from pathlib import Path

_FORM = re.compile(r"^=== (.+)\n((?:.+\n)+?)---\n((?:.*\n)+?)(?=\n===|\Z)", re.MULTILINE)


def read_forms(name: str) -> dict[str, tuple[str, str]]:
    text = (Path(__file__).parent / name).read_text("utf-8")
    return {name: (html.replace("\n", ""), markdown.strip()) for name, html, markdown in _FORM.findall(text)}
