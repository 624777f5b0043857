"""What systemd gives to a service: listening sockets, and a place to report to."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

FIRST: Final = 3  # the number of the first socket


def socket_numbers(environ: Mapping[str, str], pid: int) -> list[int]:
    """The descriptors that were passed to this very process."""
    count = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") != str(pid) or not count.isdecimal():
        return []
    return list(range(FIRST, FIRST + int(count)))


def notify(state: str) -> None:
    """Report `READY=1` or `STOPPING=1`. Does nothing where nobody wants to know."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
        to.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
        to.sendall(state.encode())
