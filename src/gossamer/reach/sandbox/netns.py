"""Becomes the browser, in a network namespace: a process that starts as this script and ends as Chromium.

    1  it enters a new network namespace, which has only a loopback device
    2  on that device it opens one port, and passes the listening socket to the process that started it
    3  it receives the command and executes it

A socket belongs to the namespace in which it was created, even when another process holds it. So the proxy
outside directly accepts the connections that the browser makes inside. There is no other way out.

It runs by path, with the standard library alone, because it must be quick and single-threaded: a process
with threads cannot enter a user namespace.
"""

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from typing import Any, Final, NoReturn

PORT: Final = 3128  # of the proxy, inside the namespace, where every port is free
BACKLOG: Final = 128
MAX_COMMAND_BYTES: Final = 256 * 1024
HIGH: Final = 10  # descriptors below are for the command

_NEW_USER, _NEW_PID, _NEW_NET = 0x10000000, 0x20000000, 0x40000000
_SET_DEATH_SIGNAL: Final = 1
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_USER_INSIDE: Final = 1000  # the user id of root inside, because Chromium does not sandbox what root starts


def main(control_number: int, pipe_number: int, level: str) -> NoReturn:
    control = socket.socket(fileno=_out_of_the_way(control_number))
    pipe = _out_of_the_way(pipe_number)
    parent = os.getppid()
    try:
        listeners = isolate(level)
    except OSError as error:
        control.sendall(_line({"failure": f"{error.strerror} ({level})", "error": error.errno}))
        sys.exit(1)
    report = _line({"sandbox": os.geteuid() != 0 and _can_nest()})
    socket.send_fds(control, [report], [listener.fileno() for listener in listeners])
    command: list[str] = json.loads(_read_line(control))
    for number in (3, 4):  # where Chromium reads and writes
        os.dup2(pipe, number, inheritable=True)
    _die_with(parent)
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def isolate(level: str) -> list[socket.socket]:
    """`net`: no network but a port of ours. `user`: root becomes another user. `none`: nothing changes."""
    if level == "none":
        return []
    user, group = os.getuid(), os.getgid()
    _unshare(_NEW_USER | (_NEW_NET if level == "net" else 0))
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user or _USER_INSIDE} {user} 1")
    _write("/proc/self/gid_map", f"{group or _USER_INSIDE} {group} 1")
    if level == "user":
        return []
    _start_loopback()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(BACKLOG)
    return [listener]


def _start_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(any_socket, _GET_FLAGS, request), 16)
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def _can_nest() -> bool:
    """Whether the browser can create namespaces for its sandbox, with rights inside. Only for Linux."""
    if sys.platform != "linux":
        return True
    child = os.fork()
    if child == 0:
        try:
            _unshare(_NEW_USER)
            _unshare(_NEW_PID)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _die_with(parent: int) -> None:
    """Die when the parent dies. Set last, because a change of user clears it."""
    if sys.platform == "linux":  # on other systems, the end of its pipe has to suffice
        _check(_c().prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:  # it died before, so no signal will come
        sys.exit(1)


def _unshare(flags: int) -> None:
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    _check(_c().unshare(flags))


def _c() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _out_of_the_way(number: int) -> int:
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.close(number)
    return moved


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _read_line(control: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        more = control.recv(64 * 1024)
        if not more or len(line) > MAX_COMMAND_BYTES:  # the parent has given up
            sys.exit(1)
        line += more
    return line


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
