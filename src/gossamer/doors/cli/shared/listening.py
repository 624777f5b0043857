"""Opens the socket that a server listens on."""

import errno
import socket
from typing import Final

from gossamer.doors.cli import fail

_BACKLOG: Final = 2048


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Ends the process with a hint if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        taken = error.errno == errno.EADDRINUSE
        fail(
            f"cannot listen on {host}:{port}: {error.strerror}.",
            f"Choose another port, for example {option} {port + 1}." if taken else None,
        )
    return listening
