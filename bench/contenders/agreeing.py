"""A facilitator that agrees at once and moves nothing: what is measured is the server that asks it."""

import json
from typing import Any, Final

NETWORK: Final = "eip155:84532"
_SUPPORTED: Final = {
    "kinds": [
        {"x402Version": 2, "scheme": "exact", "network": NETWORK},
        {
            "x402Version": 2,
            "scheme": "exact",
            "network": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
            "extra": {"feePayer": "11111111111111111111111111111111"},
        },
    ],
    "extensions": [],
    "signers": {},
}


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/supported":
        return await _say(send, _SUPPORTED)
    asked = json.loads(await _body(receive))
    authorization = asked["paymentPayload"]["payload"]["authorization"]
    if scope["path"] == "/verify":
        return await _say(send, {"isValid": True, "payer": authorization["from"]})
    done = {"success": True, "payer": authorization["from"], "transaction": authorization["nonce"]}
    return await _say(send, {**done, "network": NETWORK})


async def _body(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    return body


async def _say(send: Any, value: Any) -> None:
    raw = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": raw})
