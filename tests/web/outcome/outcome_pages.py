"""The corpus of outcomes: pages of ours, each below a few lines that say what it is.

A file has one page, or many short ones: then it begins with the lines that all of them share, and each page
follows a line `=== name`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.web.pages.page import Page

FOLDER = Path(__file__).parent / "outcomes"


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    page: Page
    outcome: str
    reason: str  # empty: any
    why: str


def page(
    html: str,
    *,
    url: str = "https://site.example/some/page",
    asked: str = "",
    status: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    media_type: str = "text/html",
) -> Page:
    return Page(
        url=asked or url,
        final_url=url,
        status=status,
        headers=tuple(headers),
        body=html.encode(),
        media_type=media_type,
        charset="utf-8",
    )


def samples() -> list[Sample]:
    alone = [_sample(path.stem, path.read_text("utf-8"), "") for path in sorted(FOLDER.glob("*.page"))]
    return [*alone, *(sample for path in sorted(FOLDER.glob("*.pages")) for sample in _collection(path))]


def _collection(path: Path) -> Iterator[Sample]:
    shared, *pages = path.read_text("utf-8").split("\n=== ")
    for one in pages:
        name, _, text = one.partition("\n")
        yield _sample(name, text, shared)


def _sample(name: str, text: str, shared: str) -> Sample:
    front, _, html = text.partition("\n---\n")
    lines = [
        (name, value)
        for name, _, value in (line.partition(": ") for line in f"{shared}\n{front}".splitlines())
    ]
    values = {"url": "https://mill.example/some/page", "status": "200", **dict(lines)}
    headers = [(name.removeprefix("header "), value) for name, value in lines if name.startswith("header ")]
    return Sample(
        name=name,
        page=page(
            html.strip("\n"),
            url=values["url"],
            asked=values.get("asked", ""),
            status=int(values["status"]),
            headers=headers,
        ),
        outcome=values["outcome"],
        reason=values.get("reason", ""),
        why=values["why"],
    )
