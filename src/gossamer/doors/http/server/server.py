"""The server: accepts connections, and stops without failing a request.

A first signal begins to stop (`flows/upkeep/stopping` has the stages), a second one ends the process at once.
"""

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from gossamer.doors.http.server.protocol import Protocol
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics

KEEP_ALIVE_SECONDS: Final = 15
TICK_SECONDS: Final = 0.05
CUT_SECONDS: Final = 1.0  # to answer interrupted requests with 503
FULL_PAUSE_SECONDS: Final = 0.2  # before the next connection is accepted when there was no descriptor for one
FULL_LOG_SECONDS: Final = 10.0
MAX_ACCEPTS: Final = 100  # in one turn of the event loop
_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class StopTimes(Struct, frozen=True):
    """Seconds that the stages of stopping may take."""

    lame_duck: float = 0.0
    drain: float = 5.0


class Server(uvicorn.Server):
    """Handles a signal without raising it again: the process closes what it opened, and ends with 0."""

    def __init__(
        self,
        config: uvicorn.Config,
        stopping: Stopping,
        times: StopTimes,
        log: Log | None = None,
        metrics: Metrics | None = None,
        accepts: int = MAX_ACCEPTS,
    ) -> None:
        super().__init__(config)
        self._accepts = accepts
        self._stopping = stopping
        self._times = times
        self._log = log
        self._metrics = metrics
        self._listening: list[socket.socket] = []
        self._opening: set[asyncio.Task[Any]] = set()
        self._asked_to_stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interrupted = False  # by Ctrl-C at a terminal, where no load balancer waits
        self._logged_full_at = 0.0

    # Accepting.

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._listening = list(sockets or [])
        self.servers = []
        for listening in self._listening:
            listening.setblocking(False)
            listening.listen(self.config.backlog)
            self._accept_when_ready(listening)
        self.started = True

    def _accept_when_ready(self, listening: socket.socket) -> None:
        if listening.fileno() != -1:
            asyncio.get_running_loop().add_reader(listening.fileno(), self._accept, listening, self._accepts)

    def _accept(self, listening: socket.socket, most: int) -> None:
        """Accept a bounded number. When no descriptor is left, connections wait in the backlog."""
        loop = asyncio.get_running_loop()
        for _ in range(most):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                loop.remove_reader(listening.fileno())
                loop.call_later(FULL_PAUSE_SECONDS, self._accept_when_ready, listening)
                self._report_full(error, loop.time())
                return
            connection.setblocking(False)
            task = loop.create_task(self._open(connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        except OSError:  # the client has disconnected already
            connection.close()

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state={}
        )
        return made

    def _report_full(self, error: OSError, now: float) -> None:
        if self._metrics is not None:
            self._metrics.count_accept_failure()
        if self._log is not None and now - self._logged_full_at > FULL_LOG_SECONDS:
            self._logged_full_at = now
            self._log.error("accept_failed", "no connection can be accepted", why=error.strerror)

    async def main_loop(self) -> None:
        """Without uvicorn's tick: the Date header is made where it is sent (`dating`)."""
        await self._asked_to_stop.wait()

    # Stopping.

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        self._loop = asyncio.get_running_loop()
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    def stop(self) -> None:
        """As after a signal."""
        self.should_exit = True
        self._asked_to_stop.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(128 + sig)
        self._interrupted = sig == signal.SIGINT
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._asked_to_stop.set)  # a handler runs between any two steps

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.leave()
        if not self._interrupted:
            await self._tick(self._times.lame_duck, until=self._stopping.draining.is_set)
        self._stopping.drain()
        await self._close_listening()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._tick(self._times.drain, until=self._is_drained)
        if not self._is_drained():
            await self._cut()

    async def _tick(self, seconds: float, until: Callable[[], bool]) -> None:
        """Keep serving for at most this long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not until() and (left := deadline - loop.time()) > 0:  # noqa: ASYNC110  (connections tell nobody)
            await asyncio.sleep(min(TICK_SECONDS, left))

    async def _close_listening(self) -> None:
        """Accept the connections in the backlog, which would be reset otherwise, and stop listening."""
        for listening in self._listening:
            self._accept(listening, MAX_ACCEPTS)
            if listening.fileno() != -1:
                asyncio.get_running_loop().remove_reader(listening.fileno())
                listening.close()
        await asyncio.gather(*self._opening)

    def _is_drained(self) -> bool:
        return not self.server_state.tasks and not self.server_state.connections

    async def _cut(self) -> None:
        """Answer everything that is still under way with 503 (`layers/deadlines`)."""
        self._stopping.cut()
        tasks = set(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CUT_SECONDS)
        await self._tick(CUT_SECONDS, until=self._is_drained)
        for connection in list(self.server_state.connections):
            with contextlib.suppress(RuntimeError):
                connection.transport.close()


def server(
    app: ASGIApp,
    protocol: Callable[..., Protocol] = Protocol,
    *,
    stopping: Stopping | None = None,
    times: StopTimes | None = None,
    log: Log | None = None,
    metrics: Metrics | None = None,
    accepts: int = MAX_ACCEPTS,
    kind: type[Server] = Server,
) -> Server:
    """A server for sockets that are bound already."""
    stopping = stopping or Stopping()
    config = uvicorn.Config(
        app,
        http=partial(protocol, stopping=stopping),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    return kind(config, stopping, times or StopTimes(), log, metrics, accepts)
