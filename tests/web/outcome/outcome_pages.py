"""The corpus of outcomes: each page of ours in a file, below a few lines that say what it is."""

from collections.abc import Sequence
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
    return [_sample(path) for path in sorted(FOLDER.glob("*.page"))]


def _sample(path: Path) -> Sample:
    front, _, html = path.read_text("utf-8").partition("\n---\n")
    lines = [(name, value) for name, _, value in (line.partition(": ") for line in front.splitlines())]
    values = dict(lines)
    headers = [(name.removeprefix("header "), value) for name, value in lines if name.startswith("header ")]
    return Sample(
        name=path.stem,
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
