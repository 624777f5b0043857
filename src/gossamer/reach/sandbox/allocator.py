"""Makes the C library's allocator return freed memory to the system.

By default, glibc takes large blocks from its heap once one of them was freed, and a heap shrinks only from
its end. So a few large pages would leave hundreds of megabytes in a process for good. With another C library
this does nothing.
"""

import ctypes
from contextlib import suppress
from typing import Final

LARGE: Final = 256 * 1024  # bytes; larger blocks are mapped separately and returned when they are freed
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # <malloc.h>


def return_large_blocks() -> None:
    """Fix the thresholds for this process, which also keeps the allocator from raising them."""
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        for parameter, value in ((_MMAP_THRESHOLD, LARGE), (_TRIM_THRESHOLD, LARGE), (_ARENA_MAX, 2)):
            library.mallopt(parameter, value)


def trim() -> None:
    """Return free memory in the middle of the heap too."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
