"""Texts in many languages, from manuals that Debian packages bring.

The prices of tokens are fitted to the installation guide; the handbook is held out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.web.content.article import extract

MAX_CHARS: Final = 25_000  # of a manual in one language
MIN_PARAGRAPH_CHARS: Final = 60
MIN_SHARE: Final = 0.55  # of a paragraph's letters that are of its script: some are not translated
_SCRIPTS: Final = {
    "Cyrillic": "[\u0400-\u04ff]",
    "Greek": "[\u0370-\u03ff]",
    "Chinese": "[\u4e00-\u9fff]",
    "Japanese": "[\u3040-\u9fff]",
    "Korean": "[\uac00-\ud7af]",
    "Arabic, Hebrew": "[\u0590-\u06ff]",
}


@dataclass(frozen=True, slots=True)
class Manual:
    folder: Path
    is_fitted: bool
    languages: dict[str, str]  # folders, separated by spaces


MANUALS: Final = (
    Manual(
        Path("/usr/share/doc/installation-guide-amd64"),
        is_fitted=True,
        languages={
            "English": "en",
            "other Latin": "de fr cs vi",
            "Cyrillic": "ru",
            "Greek": "el",
            "Chinese": "zh_CN",
            "Japanese": "ja",
            "Korean": "ko",
        },
    ),
    Manual(
        Path("/usr/share/doc/debian-handbook/html"),
        is_fitted=False,
        languages={
            "English": "en-US",
            "other Latin": "de-DE fr-FR es-ES",
            "Cyrillic": "ru-RU",
            "Greek": "el-GR",
            "Chinese": "zh-CN zh-TW",
            "Japanese": "ja-JP",
            "Korean": "ko-KR",
            "Arabic, Hebrew": "ar-MA fa-IR",
        },
    ),
)


def manual_texts() -> Iterator[tuple[str, bool, str]]:
    """The kind of every text, whether prices are fitted to it, and the text; none where none is installed."""
    for manual in MANUALS:
        for kind, languages in manual.languages.items():
            for language in languages.split():
                if text := _read(manual.folder / language, kind):
                    yield f"{kind}, manual", manual.is_fitted, text


def _read(folder: Path, kind: str) -> str:
    found, size = [], 0
    for path in sorted(folder.glob("*.html")):
        text = extract(path.read_text("utf-8", "replace"), "https://bench.example/").text
        paragraphs = [one for one in text.split("\n\n") if _is_of(one, kind)]
        found += paragraphs
        size += sum(map(len, paragraphs))
        if size > MAX_CHARS:
            break
    return "\n\n".join(found)[:MAX_CHARS]


def _is_of(paragraph: str, kind: str) -> bool:
    if len(paragraph) < MIN_PARAGRAPH_CHARS or kind not in _SCRIPTS:
        return len(paragraph) >= MIN_PARAGRAPH_CHARS
    return len(re.findall(_SCRIPTS[kind], paragraph)) > MIN_SHARE * len(re.findall(r"\w", paragraph))
