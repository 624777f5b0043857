"""What a contender rendered, kept in its folder for those who look at it later."""

import hashlib
from pathlib import Path


def keep(url: str, html: str) -> None:
    _file(Path.cwd(), url).write_text(html, encoding="utf-8")


def kept(folder: Path, url: str) -> str:
    return _file(folder, url).read_text(encoding="utf-8")


def _file(folder: Path, url: str) -> Path:
    return folder / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.html"
