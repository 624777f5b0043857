"""Pages of known sizes that are made by their JavaScript: what the cache bench renders and keeps."""

import html
import json
from pathlib import Path
from typing import Final

from bench.servers import ROOT

SIZES: Final = (20_000, 245_000)  # bytes of rendered HTML, about
# The text comes as data, as it does in many apps; `?n=` makes as many different pages as are needed.
SHELL: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Source</title>
<body>
<h1></h1>
<main></main>
<script>
  const number = new URLSearchParams(location.search).get('n')
  document.title = document.querySelector('h1').textContent = `Source, page ${number}`
  fetch('/{size}.json').then((answer) => answer.json()).then((files) => {
    for (const [name, text] of files) {
      const section = document.createElement('section')
      section.append(document.createElement('h2'), document.createElement('pre'))
      section.firstChild.textContent = name
      section.lastChild.textContent = text
      document.querySelector('main').append(section)
    }
  })
</script>
</body>
</html>
"""


def write(root: Path) -> None:
    """A page of each size, made of as much of Gossamer's own source as fits."""
    root.mkdir(parents=True)
    (root / "index.html").write_text("<!doctype html><title>Pages</title>\n")
    for size in SIZES:
        (root / f"{size}.html").write_text(SHELL.replace("{size}", str(size)))
        (root / f"{size}.json").write_text(json.dumps(_excerpt(size)))


def path(size: int, number: int) -> str:
    return f"/{size}.html?n={number}"


def _excerpt(size: int) -> list[tuple[str, str]]:
    chosen: list[tuple[str, str]] = []
    left = size - 300  # the page around it
    for file in sorted((ROOT / "src").rglob("*.py")):
        text = file.read_text()[:left]
        chosen.append((file.name, text))
        left -= len(html.escape(text, quote=False).encode()) + 50
        if left <= 0:
            break
    return chosen
