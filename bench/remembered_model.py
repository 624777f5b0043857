"""An embedding model whose vectors are kept in `.bench/`, so that the next run need not compute them."""

import hashlib
import sqlite3
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gossamer.reach.services.embeddings import EmbeddingModel
from gossamer.web.search.vectors import Vector

KEPT: Final = Path(__file__).parent.parent / ".bench" / "vectors.db"


class RememberedModel:
    def __init__(self, model: EmbeddingModel) -> None:
        self._model = model
        KEPT.parent.mkdir(exist_ok=True)
        self._kept = sqlite3.connect(KEPT)
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (name TEXT PRIMARY KEY, vector BLOB)")

    @property
    def name(self) -> str:
        return self._model.name

    async def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector]:
        """Questions, which have a deadline, are always computed: their CPU is measured."""
        if seconds is not None or self._model.name == "local":
            return await self._model.embed(texts, seconds=seconds)
        names = [hashlib.sha256(f"{self.name}\n{text}".encode()).hexdigest() for text in texts]
        found = {name: vector for name in names if (vector := self._read(name)) is not None}
        missing = [at for at, name in enumerate(names) if name not in found]
        made = await self._model.embed([texts[at] for at in missing]) if missing else []
        for at, vector in zip(missing, made, strict=True):
            found[names[at]] = vector
            self._keep(names[at], vector)
        self._kept.commit()
        return [found[name] for name in names]

    async def close(self) -> None:
        self._kept.close()
        await self._model.close()

    def _read(self, name: str) -> Vector | None:
        row = self._kept.execute("SELECT vector FROM vectors WHERE name = ?", (name,)).fetchone()
        return tuple(array("f", row[0])) if row else None

    def _keep(self, name: str, vector: Vector) -> None:
        packed = array("f", vector).tobytes()
        self._kept.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (name, packed))
