"""A clock that can be moved, for processes that are started with it.

A small library moves what they and their databases take for the time of day, all at once, and leaves alone
what they measure durations with: so leases and retries see hours pass, and timeouts do not. Libraries that
fake all clocks also change how threads wait for each other, which costs Python a core and SQLite its turns.
"""

import mmap
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


class MovedClock:
    """Seconds since 1970, as the processes see them."""

    def __init__(self, folder: Path, start: float) -> None:
        self._file, self._library = folder / "clock", folder / "moved_clock.so"
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        self._library.chmod(0o755)
        self._file.write_bytes(bytes(8))
        self._file.chmod(0o644)
        with self._file.open("r+b") as file:
            self._offset = mmap.mmap(file.fileno(), 8)
        self.move_to(start)

    @property
    def environ(self) -> Mapping[str, str]:
        return {"LD_PRELOAD": str(self._library), "MOVED_CLOCK": str(self._file)}

    def now(self) -> float:
        return time.time() + self._read() / 1e9

    def move_to(self, moment: float) -> None:
        """One aligned number is written at once."""
        self._offset[:8] = struct.pack("=q", round((moment - time.time()) * 1e9))

    def _read(self) -> int:
        (offset,) = struct.unpack("=q", self._offset[:8])
        return int(offset)
