"""The least an ASGI application can do: what uvicorn itself costs, and so the ceiling for Gossamer on it."""

from typing import Any, Final

BODY: Final = b'{"role":"admin"}'
START: Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())],
}
END: Final = {"type": "http.response.body", "body": BODY}


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send(START)
    await send(END)
