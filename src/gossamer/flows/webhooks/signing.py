"""Signs webhooks as Standard Webhooks say: HMAC-SHA256 over id, time and body."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"


def headers(secrets: Sequence[str], delivery_id: str, timestamp: int, body: str) -> dict[str, str]:
    """`timestamp` is of the attempt, in Unix seconds: receivers refuse old ones. While a secret is replaced,
    the old one signs too."""
    found = {"webhook-id": delivery_id, "webhook-timestamp": str(timestamp)}
    if secrets:
        found["webhook-signature"] = " ".join(sign(one, delivery_id, timestamp, body) for one in secrets)
    return found


def sign(secret: str, delivery_id: str, timestamp: int, body: str) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{delivery_id}.{timestamp}.{body}".encode()
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"
