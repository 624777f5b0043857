"""The sockets that a server accepts connections from: bound here, or inherited."""

import errno
import os
import socket
from collections.abc import Sequence
from typing import Final

from gossamer.doors.cli import fail
from gossamer.doors.cli.shared.systemd import socket_numbers

BACKLOG: Final = 2048


def open_listening(host: str, port: int, numbers: Sequence[int]) -> list[socket.socket]:
    """The sockets with these descriptors, else those that systemd passed, else a new one."""
    numbers = numbers or socket_numbers(os.environ, os.getpid())
    return [_inherit(number) for number in numbers] if numbers else [listen(host, port)]


def port_of(listening: socket.socket) -> int | None:
    """None for a socket in the file system."""
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    port: int = listening.getsockname()[1]
    return port


def _inherit(number: int) -> socket.socket:
    try:
        os.set_inheritable(number, False)
        inherited = socket.socket(fileno=number)
        if inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return inherited
        inherited.detach()
    except OSError:
        pass
    fail(f"descriptor {number} is not a listening socket.", "Pass one with --fd, or as systemd does.")
    raise AssertionError  # `fail` has ended the process


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Ends the process with a hint if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        taken = error.errno == errno.EADDRINUSE
        fail(
            f"cannot listen on {host}:{port}: {error.strerror}.",
            f"Choose another port, for example {option} {port + 1}." if taken else None,
        )
    return listening
