"""The API key for Coinbase's facilitator: it signs a token for each request.

A token is a JWT (RFC 7519) for one method of one address, and holds for two minutes. Ed25519 keys come as 64
bytes in base64, the second half of which is public (EdDSA, RFC 8037); older keys are EC keys in PEM (ES256,
RFC 7518). The key itself is never sent.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

TOKEN_SECONDS: Final = 120
_HALF: Final = 32  # bytes: of an Ed25519 key in base64, and of a signature
_PEM: Final = "-----BEGIN "

Private = Ed25519PrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class FacilitatorKey:
    id: str
    private: Private = field(repr=False)
    clock: Callable[[], float] = field(repr=False)  # Unix seconds
    nonce: Callable[[], str] = field(repr=False)  # never the same twice

    def token(self, method: str, host: str, path: str) -> str:
        now = int(self.clock())
        head = {"alg": self.algorithm, "typ": "JWT", "kid": self.id, "nonce": self.nonce()}
        claims = {
            "iss": "cdp",
            "sub": self.id,
            "iat": now,
            "nbf": now,
            "exp": now + TOKEN_SECONDS,
            "uris": [f"{method} {host}{path}"],
        }
        signed = f"{_encode(head)}.{_encode(claims)}"
        return f"{signed}.{_base64url(self._signature(signed.encode()))}"

    @property
    def algorithm(self) -> str:
        return "EdDSA" if isinstance(self.private, Ed25519PrivateKey) else "ES256"

    def _signature(self, text: bytes) -> bytes:
        if isinstance(self.private, Ed25519PrivateKey):
            return self.private.sign(text)
        r, s = decode_dss_signature(self.private.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")


def read_private(secret: str) -> Private:
    """The key in a secret. Raises `ValueError`, whose message does not repeat the secret."""
    text = secret.replace("\\n", "\n").strip()  # on one line, as environments hold it
    return _pem(text) if text.startswith(_PEM) else _pair(text)


def _pem(text: str) -> Private:
    try:
        found = load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("it begins like a key in PEM, and cannot be read as one") from None
    if isinstance(found, Ed25519PrivateKey):
        return found
    if isinstance(found, ec.EllipticCurvePrivateKey) and isinstance(found.curve, ec.SECP256R1):
        return found
    raise ValueError("it is a key of another kind: Ed25519 or EC (P-256) is needed")


def _pair(text: str) -> Ed25519PrivateKey:
    try:
        pair = b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise ValueError("it is neither base64 nor PEM") from None
    if len(pair) != 2 * _HALF:
        raise ValueError(f"it has {len(pair)} bytes, and an Ed25519 key has {2 * _HALF}")
    found = Ed25519PrivateKey.from_private_bytes(pair[:_HALF])
    if found.public_key().public_bytes_raw() != pair[_HALF:]:
        raise ValueError("its two halves do not belong together: a character of it is wrong")
    return found


def _encode(value: Any) -> str:
    return _base64url(msgspec.json.encode(value))


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
