"""OutgoingFile: a file that is sent while it is written, so that nobody can go back in it."""

import io
from typing import Any


class OutgoingFile(io.RawIOBase):
    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self._at

    def write(self, piece: Any) -> int:
        whole = bytes(piece)
        self._pieces.append(whole)
        self._at += len(whole)
        return len(whole)

    def take(self) -> bytes:
        """What was written since the last call."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken
