"""Boarding: where a connection's requests turn into the express lane, and where they come back from it."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from uvicorn.server import ServerState

from gossamer.doors.http.express import LONGEST_REQUEST, Detour, Lane, Request, Ride
from gossamer.doors.http.server import Protocol


class Boarding(Protocol):
    """A request that came in one piece, on a connection that waits for nothing else, may go by express."""

    def __init__(self, *arguments: Any, lane: Lane, departures: "Departures", **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._lane = lane
        self._departures = departures
        self._between = True  # requests: the last one has been received whole
        self._begun = 0  # requests, in the bytes that are being read
        self._riding = False
        self._held: list[bytes] = []  # what came during a ride
        self._leaving = False  # as soon as the ride is over
        self._rested_at = 0.0  # when the last ride was over

    def data_received(self, data: bytes) -> None:
        if self._riding:
            self._held.append(data)
            self.flow.pause_reading()
            return
        request = self._request(data)
        ticket = self._lane.ticket(request) if request is not None else None
        if request is None or ticket is None:
            self._read(data, request)
        else:
            self._riding = True
            drive(self._lane.ride(ticket), partial(self._arrive, request))

    def _request(self, data: bytes) -> Request | None:
        """What may be a whole request, and the only one under way."""
        alone = self._between and self._idle() and not self._refused and not self.flow.write_paused
        return (
            Request(self.client[0], data) if alone and len(data) <= LONGEST_REQUEST and self.client else None
        )

    def _read(self, data: bytes, request: Request | None) -> None:
        """The ordinary way. A request that was whole and alone may go by express the next time."""
        self._begun = 0
        super().data_received(data)
        if request is not None and self._begun == 1 and self._between and self.cycle is not None:
            self.cycle.scope["sell"] = partial(self._lane.sell, request)  # type: ignore[typeddict-unknown-key]

    def _arrive(self, request: Request, arrived: Ride | Detour) -> None:
        if isinstance(arrived, Ride):
            self._departures.add(self, arrived)
            return
        self._riding = False
        self._lane.take_back(request)
        if not self.transport.is_closing():
            self._read(request.words, request)
            self.cycle.scope["standings"] = arrived.standings  # type: ignore[typeddict-unknown-key]
            self._go_on()

    def depart(self, ride: Ride, fields: bytes) -> None:
        """Send the answer, which lacks the `fields` that all answers have."""
        self._riding = False
        if not self.transport.is_closing():
            self.transport.writelines((b"%b%b\r\n" % (ride.head, fields), ride.body))
            self._rest()
            self._go_on()

    def _rest(self) -> None:
        """What uvicorn does after an answer, but for setting its alarm anew each time: it is let ring, and
        if there was a ride since, set again."""
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._rested_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._set_alarm(self.timeout_keep_alive)

    def _set_alarm(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        left = self._rested_at + self.timeout_keep_alive - self.loop.time()
        if self._riding or left > 0:
            self._set_alarm(self.timeout_keep_alive if self._riding else left)
        else:
            super().timeout_keep_alive_handler()

    def _go_on(self) -> None:
        if self._leaving:
            self.shutdown()
        held, self._held = b"".join(self._held), []
        if held:
            self.data_received(held)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._between = False
        self._begun += 1

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._between = True

    def shutdown(self) -> None:
        if self._riding:
            self._leaving = True
        else:
            super().shutdown()


class Departures:
    """Answers that are ready in one turn of the event loop leave together, at its end.

    Alone, each would wake its client on another core, which takes longer than making the answer did: half as
    many again leave in a second this way.
    """

    def __init__(self) -> None:
        self._ready: list[tuple[Boarding, Ride]] = []

    def add(self, boarding: Boarding, ride: Ride) -> None:
        if not self._ready:
            boarding.loop.call_soon(self._depart, boarding.server_state)
        self._ready.append((boarding, ride))

    def _depart(self, server: ServerState) -> None:
        ready, self._ready = self._ready, []
        fields = b"".join([b"%b: %b\r\n" % field for field in server.default_headers])
        for boarding, ride in ready:
            boarding.depart(ride, fields)


def boarding(lane: Lane) -> Callable[..., Boarding]:
    """What a server makes its connections with."""
    return partial(Boarding, lane=lane, departures=Departures())


def drive(coroutine: Coroutine[Any, Any, Ride | Detour], done: Callable[[Ride | Detour], None]) -> None:
    """Run a coroutine to its end from here, and from the futures that it waits for, if it waits at all.

    A task would do the same a turn of the event loop later, for a tenth of what the whole ride costs.
    """

    def go_on(_: object = None) -> None:
        try:
            future = coroutine.send(None)
        except StopIteration as end:
            done(end.value)
        except Exception:  # noqa: BLE001  (the ordinary way meets the same, and knows how to say it)
            done(Detour([]))
        else:
            future._asyncio_future_blocking = False  # how whoever drives a coroutine says that it has seen it
            future.add_done_callback(go_on)

    go_on()
