"""ForkServer: starts processes of our own by forking one that has imported the service (`fork_server`)."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from gossamer.doors.worker.fork_server import COMMAND, STATUS_BYTES, ChildRequest

LOST: Final = -signal.SIGKILL  # the exit code of a child whose fork server was killed: the system kills both


class ForkServer:
    """It is started with the first child, and again if it has ended. It ends after this process."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._asking: socket.socket | None = None

    async def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], *, name: str, limit: int
    ) -> "ForkedProcess":
        """Start `gossamer` with these arguments. It prints no line above `limit`. Raises `OSError`."""
        asking = await self._open()
        request = ChildRequest(list(arguments), dict(environment), name)
        stack = contextlib.ExitStack()
        reads, input_end = os.pipe()
        output_end, writes = os.pipe()
        theirs, ours = socket.socketpair()
        with stack:  # what the child has gets closed here
            stack.callback(os.close, reads)
            stack.callback(os.close, writes)
            stack.callback(theirs.close)
            try:
                socket.send_fds(asking, [msgspec.json.encode(request)], [reads, writes, theirs.fileno()])
            except OSError:
                os.close(input_end)
                os.close(output_end)
                ours.close()
                raise
        return await ForkedProcess.open(ours, input_end, output_end, limit)

    async def close(self) -> None:
        """After its children have ended, it ends too."""
        if self._asking is not None:
            self._asking.close()
            self._asking = None
        if self._process is not None:
            await self._process.wait()
            self._process = None

    async def _open(self) -> socket.socket:
        if self._process is None or self._process.returncode is not None or self._asking is None:
            if self._asking is not None:
                self._asking.close()
            theirs, self._asking = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "gossamer", COMMAND),
                    stdin=theirs.fileno(),
                    start_new_session=True,
                )
        return self._asking


class ForkedProcess:
    """A child of the fork server, with the part of `asyncio.subprocess.Process` that we use."""

    def __init__(
        self,
        input_end: int,
        stdout: asyncio.StreamReader,
        output: asyncio.ReadTransport,
        control: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self.returncode: int | None = None
        self.stdout = stdout
        self._output = output
        self._input_end = input_end
        self._ending, self._signals = control
        self._ended = asyncio.ensure_future(self._read_status())

    @classmethod
    async def open(
        cls, control: socket.socket, input_end: int, output_end: int, limit: int
    ) -> "ForkedProcess":
        stdout = asyncio.StreamReader(limit)
        output, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(output_end, "rb", 0)
        )
        return cls(input_end, stdout, output, await asyncio.open_connection(sock=control))

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def send_signal(self, number: int) -> None:
        self._signals.write(bytes([number]))

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Close its input, after which it ends by itself, and its output."""
        self._output.close()
        if self._input_end >= 0:
            os.close(self._input_end)
            self._input_end = -1

    async def _read_status(self) -> int:
        try:
            status = await self._ending.readexactly(STATUS_BYTES)
            self.returncode = int.from_bytes(status, signed=True)
        except (asyncio.IncompleteReadError, OSError):
            self.returncode = LOST
        self._signals.close()
        return self.returncode
