"""The fork server: a process that has imported the service once, and becomes each child by forking.

A child so starts in a tenth of the time, and shares the memory of what was imported. The fork server has no
thread and no event loop. Its input is the socket on which it is asked for children (`forked_process` asks).
For each child it is sent a request with three descriptors: the child's input and output, and a socket of its
own, on which it takes signals for the child and at last tells the exit code.

When the asking process ends, children notice by their own input, and the fork server ends with the last one.
If the fork server itself is killed, the system kills its children.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import socket
import sys
from typing import Final, NoReturn

import msgspec

COMMAND: Final = "fork-server"
MAX_REQUEST_BYTES: Final = 160 * 1024  # with the whole environment; one message has room for 200
DESCRIPTORS: Final = 3
STATUS_BYTES: Final = 4
_SET_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG
_SET_NAME: Final = 15  # PR_SET_NAME
_INPUT: Final = 0
_OUTPUT: Final = 1


class ChildRequest(msgspec.Struct):
    arguments: list[str]  # of `gossamer`
    environment: dict[str, str]
    name: str  # that the system shows


def become_child() -> None:
    """Serve requests. Returns only in a child, which has its own arguments, environment, input and output."""
    _ForkServer(socket.socket(fileno=os.dup(_INPUT))).serve()


class _ForkServer:
    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._selector = selectors.DefaultSelector()
        self._selector.register(asked, selectors.EVENT_READ)
        self._children: dict[int, tuple[int, socket.socket]] = {}  # by its descriptor: process and socket
        self._is_asked = True

    def serve(self) -> None:
        while self._is_asked or self._children:
            for key, _ in self._selector.select():
                if key.fileobj is self._asked:
                    if self._fork():
                        return
                elif key.fd in self._children:
                    self._reap(key.fd)
                elif isinstance(key.fileobj, socket.socket) and key.data in self._children:
                    self._pass_signal(key.fileobj, key.data)
        _leave(0)

    def _fork(self) -> bool:
        """Whether this is the child."""
        data, given, _flags, _address = socket.recv_fds(self._asked, MAX_REQUEST_BYTES, DESCRIPTORS)
        if not data:
            self._is_asked = False
            self._selector.unregister(self._asked)
            return False
        request = msgspec.json.decode(data, type=ChildRequest)
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            self._asked.close()
            for descriptor, (_, control) in self._children.items():
                os.close(descriptor)
                control.close()
            os.close(given[2])
            _become(request, given[0], given[1], own)
            return True
        os.close(given[0])
        os.close(given[1])
        descriptor, control = os.pidfd_open(pid), socket.socket(fileno=given[2])
        self._children[descriptor] = (pid, control)
        self._selector.register(descriptor, selectors.EVENT_READ)
        self._selector.register(control, selectors.EVENT_READ, data=descriptor)
        return False

    def _pass_signal(self, control: socket.socket, descriptor: int) -> None:
        """A signal for the child. It has not been waited for, so its number is still its own."""
        data = control.recv(1)
        if data:
            os.kill(self._children[descriptor][0], data[0])
        else:
            self._selector.unregister(control)

    def _reap(self, descriptor: int) -> None:
        pid, control = self._children.pop(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self._selector.unregister(descriptor)
        os.close(descriptor)
        if control.fileno() in self._selector.get_map():
            self._selector.unregister(control)
        with control, contextlib.suppress(OSError):  # the asking process may be gone
            control.sendall(status.to_bytes(STATUS_BYTES, signed=True))


def _become(request: ChildRequest, reads: int, writes: int, parent: int) -> None:
    system = ctypes.CDLL(None)
    system.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        _leave(1)
    os.setsid()  # Ctrl-C reaches only the asking process, which then ends the child
    system.prctl(_SET_NAME, request.name.encode(), 0, 0, 0)
    os.dup2(reads, _INPUT)
    os.dup2(writes, _OUTPUT)
    os.close(reads)
    os.close(writes)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv[1:] = request.arguments


def _leave(status: int) -> NoReturn:
    os._exit(status)
