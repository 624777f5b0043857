"""A facilitator over HTTP that verifies and settles on the local chains, and fails where a test wants."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol

from x402.schemas import parse_payment_payload, parse_payment_requirements

from tests.servers.chains.doorman import Doorman

PHASES: Final = ("supported", "verify", "settle")
WAIT_SECONDS: Final = 30.0


class Chain(Protocol):
    network: str
    asset: str

    def fund(self, owner: str, units: int) -> None: ...
    def balances(self, *owners: str) -> list[int]: ...
    def supported(self) -> Any: ...
    def verify(self, payload: Any, requirements: Any) -> Any: ...
    def settle(self, payload: Any, requirements: Any) -> Any: ...
    def close(self) -> None: ...


class Fault(Enum):
    """What becomes of a phase. Only the last two do what they were asked for."""

    DROP = auto()  # the connection ends without an answer
    HANG = auto()  # the connection stays, without an answer
    ERROR = auto()  # 500
    UNAUTHORIZED = auto()  # 401
    FORBIDDEN = auto()  # 403
    UNPAID = auto()  # 402: whoever asks has not paid the facilitator
    BUSY = auto()  # 429
    GARBAGE = auto()  # 200, and what follows is not JSON
    NONSENSE = auto()  # 200, and JSON that means nothing
    DECLINE = auto()  # a clear no
    REJECT = auto()  # the same as Coinbase's says it: with 400, and without what there is not
    INVALID = auto()  # 400: it does not understand what it was sent
    DONE_THEN_HANG = auto()
    DONE_THEN_DROP = auto()


@dataclass(frozen=True, slots=True)
class Call:
    phase: str
    network: str = ""
    payer: str = ""  # on EVM chains: there it can be read from the payment
    payload: Any = None
    requirements: Any = None


class Facilitator:
    """Listens from the start, at any path. `url` stays the same when it is stopped and started again."""

    def __init__(self, *chains: Chain, doorman: Doorman | None = None) -> None:
        self.calls: list[Call] = []
        self.doorman = doorman
        self.shown: list[str] = []  # the Authorization of every request, let in or not
        self._chains = {kind.network: chain for chain in chains for kind in chain.supported().kinds}
        self._kinds = [kind for chain in chains for kind in chain.supported().kinds]
        self.before: Callable[[str, Any], None] | None = None  # what happens just before it does a phase
        self._faults: dict[tuple[str, str], Fault] = {}
        self._changes: dict[str, dict[str, Any]] = {}
        self._released = threading.Event()
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def fail(self, phase: str, fault: Fault, *, payer: str = "") -> None:
        """From now on until `reset`, for one payer or for all."""
        assert phase in PHASES
        self._faults[phase, payer] = fault

    def lie(self, phase: str, **changes: Any) -> None:
        """From now on until `reset`, its answers have these members; `...` takes one out. What it is asked
        for it does not do."""
        self._changes[phase] = changes

    def reset(self) -> None:
        """As new: whoever hangs is let go (without an answer), nothing fails, nothing was called."""
        self._faults.clear()
        self._changes.clear()
        self.before = None
        self.calls.clear()
        self.shown.clear()
        self._released.set()
        self._released = threading.Event()

    def count(self, phase: str, *, payer: str = "") -> int:
        return sum(call.phase == phase and call.payer.startswith(payer) for call in self.calls)

    async def reached(self, phase: str, *, payer: str = "") -> None:
        """Wait until it has been asked, whatever it answered."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not self.count(phase, payer=payer):
                await asyncio.sleep(0.005)

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"facilitator": self})
        self._server = _Server(("127.0.0.1", self._port), handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Connections are refused."""
        self._released.set()
        self._released = threading.Event()
        self._server.end()

    close = stop

    def admits(self, method: str, host: str, path: str, authorization: str) -> bool:
        self.shown.append(authorization)
        return self.doorman is None or self.doorman.admits(method, host, path, authorization)

    def answer(self, phase: str, body: Any) -> tuple[int, bytes] | None:
        """Status and body, or nothing at all."""
        call, released = _call(phase, body), self._released
        self.calls.append(call)
        fault = self._faults.get((phase, call.payer)) or self._faults.get((phase, ""))
        if phase in self._changes:
            return _json(200, self._lie(call))
        if fault is None:
            return self._done(phase, body)
        if fault in (Fault.DONE_THEN_HANG, Fault.DONE_THEN_DROP):
            self._done(phase, body)
        if fault in (Fault.HANG, Fault.DONE_THEN_HANG):
            released.wait()
        return _SAID.get(fault, {}).get(phase)

    def _lie(self, call: Call) -> dict[str, Any]:
        good: dict[str, Any] = {"payer": call.payer} if call.payer else {}
        if call.phase == "verify":
            good["isValid"] = True
        else:
            good |= {"success": True, "transaction": "0x" + "5c" * 32, "network": call.network}
        told = {**good, **self._changes[call.phase]}
        return {name: value for name, value in told.items() if value is not ...}

    def _done(self, phase: str, body: Any) -> tuple[int, bytes]:
        if self.before is not None:
            self.before(phase, body)
        if phase == "supported":
            return _json(
                200, {"kinds": [_plain(kind) for kind in self._kinds], "extensions": [], "signers": {}}
            )
        chain = self._chains.get(body["paymentRequirements"]["network"])
        if chain is None:
            return _json(400, {"error": "unsupported network"})
        payload = parse_payment_payload(body["paymentPayload"])
        requirements = parse_payment_requirements(payload.x402_version, body["paymentRequirements"])
        do = chain.verify if phase == "verify" else chain.settle
        return _json(200, _plain(do(payload, requirements)))


def _call(phase: str, body: Any) -> Call:
    if phase == "supported":
        return Call(phase)
    sent, asked = body["paymentPayload"], body["paymentRequirements"]
    payer = sent["payload"].get("authorization", {}).get("from", "")
    return Call(phase, asked["network"], payer, sent, asked)


def _plain(model: Any) -> Any:
    return model.model_dump(by_alias=True, exclude_none=True)


def _json(status: int, value: Any) -> tuple[int, bytes]:
    return status, json.dumps(value).encode()


def _every(said: tuple[int, bytes]) -> dict[str, tuple[int, bytes]]:
    return dict.fromkeys(PHASES, said)


_SAID: Final = {
    Fault.ERROR: _every((500, b'{"error": "internal"}')),
    Fault.UNAUTHORIZED: _every((401, b"Unauthorized")),
    Fault.FORBIDDEN: _every((403, b'{"errorType": "forbidden"}')),
    Fault.UNPAID: _every((402, b'{"errorType": "payment_method_required"}')),
    Fault.BUSY: _every((429, b'{"errorType": "rate_limit_exceeded"}')),
    Fault.INVALID: _every((400, b'{"errorType": "invalid_request", "errorMessage": "no schema fits"}')),
    Fault.REJECT: {
        "supported": (400, b"{}"),
        "verify": (400, b'{"isValid": false, "invalidReason": "insufficient_funds"}'),
        "settle": (400, b'{"success": false, "errorReason": "insufficient_funds"}'),
    },
    Fault.GARBAGE: _every((200, b"<html>a load balancer's apology")),
    Fault.NONSENSE: _every((200, b'{"answer": [42]}')),
    Fault.DECLINE: {
        "supported": (200, b'{"kinds": [], "extensions": [], "signers": {}}'),
        "verify": (200, b'{"isValid": false, "invalidReason": "insufficient_funds"}'),
        "settle": (
            200,
            b'{"success": false, "errorReason": "insufficient_funds", "transaction": "", "network": ""}',
        ),
    },
}


class _Handler(BaseHTTPRequestHandler):
    facilitator: Facilitator
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _answer(self, body: Any) -> None:
        phase, token = self.path.rpartition("/")[2], self.headers.get("authorization", "")
        if not self.facilitator.admits(self.command, self.headers["host"], self.path, token):
            self._respond((401, b"Unauthorized"))
        elif phase in (PHASES[:1] if body is None else PHASES[1:]):
            self._respond(self.facilitator.answer(phase, body))
        else:
            self._respond((404, b"{}"))

    def _respond(self, answer: tuple[int, bytes] | None) -> None:
        if answer is None:
            self.close_connection = True
            return
        status, raw = answer
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n"
        self.wfile.write(head.encode() + raw)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(self, *arguments: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is nothing to write about."""

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            self.shutdown_request(connection)
