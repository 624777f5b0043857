"""A node of a chain: JSON-RPC over HTTP, with the methods that it is given."""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Node:
    """Listens from the start. Asked for anything that its methods do not know, it answers an error."""

    def __init__(
        self,
        methods: Mapping[str, Callable[..., Any]],
        encode: Callable[[Any], Any] = lambda value: value,
        *,
        closes_in: float = 0.5,  # seconds; one that stays open to the end need not look often
    ) -> None:
        self.asked: list[str] = []
        self.says: bytes | None = None  # to everything, whatever was asked
        self._methods = dict(methods)
        self._encode = encode
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"node": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(closes_in,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def twin(self) -> "Node":
        """Another node of the same chain, which nobody else asks."""
        return Node(self._methods, self._encode, closes_in=0.02)

    def reset(self) -> None:
        self.asked.clear()
        self.says = None

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: Mapping[str, Any]) -> bytes:
        self.asked.append(asked["method"])
        if self.says is not None:
            return self.says
        try:
            result = self._methods[asked["method"]](*asked["params"])
        except (KeyError, ValueError) as error:
            told: dict[str, Any] = {"error": {"code": -32000, "message": str(error)}}
        else:
            told = {"result": self._encode(result)}
        return json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}).encode()


class _Handler(BaseHTTPRequestHandler):
    node: Node
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        raw = self.node.answer(asked)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """Nothing."""
