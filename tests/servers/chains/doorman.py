"""Who lets nobody in without a token, as Coinbase's API does: it knows the public half of a key."""

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

LONGEST_LIFE: Final = 120
SKEW: Final = 30  # seconds that clocks may differ

Private = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey
Public = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey


@dataclass
class Doorman:
    key_id: str
    public: Public
    nonces: set[str] = field(default_factory=set)  # those that were seen: none is taken twice
    refusals: list[str] = field(default_factory=list)

    def admits(self, method: str, host: str, path: str, authorization: str) -> bool:
        try:
            self._check(f"{method} {host}{path}", authorization)
        except (ValueError, KeyError, InvalidSignature) as wrong:
            self.refusals.append(repr(wrong))
            return False
        return True

    def _check(self, uri: str, authorization: str) -> None:
        scheme, _, token = authorization.partition(" ")
        _expect("scheme", scheme, "Bearer")
        head, claims, signature = token.split(".")
        self._check_signature(f"{head}.{claims}".encode(), decoded(signature))
        self._check_head(json.loads(decoded(head)))
        self._check_claims(json.loads(decoded(claims)), uri)

    def _check_signature(self, signed: bytes, signature: bytes) -> None:
        _expect("length of the signature", len(signature), 64)
        if isinstance(self.public, ed25519.Ed25519PublicKey):
            self.public.verify(signature, signed)
            return
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        self.public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))

    def _check_head(self, head: dict[str, Any]) -> None:
        edwards = isinstance(self.public, ed25519.Ed25519PublicKey)
        _expect("alg", head["alg"], "EdDSA" if edwards else "ES256")
        _expect("typ", head["typ"], "JWT")
        _expect("kid", head["kid"], self.key_id)
        _expect("nonce seen before", head["nonce"] in self.nonces, False)
        self.nonces.add(head["nonce"])

    def _check_claims(self, claims: dict[str, Any], uri: str) -> None:
        now = time.time()
        _expect("iss", claims["iss"], "cdp")
        _expect("sub", claims["sub"], self.key_id)
        _expect("uris", claims["uris"], [uri])
        _expect("begun", claims["nbf"] <= now + SKEW, True)
        _expect("over", claims["exp"] <= now - SKEW, False)
        _expect("life", claims["exp"] - claims["nbf"] <= LONGEST_LIFE, True)


def ed25519_secret(private: ed25519.Ed25519PrivateKey) -> str:
    """As it is handed out."""
    return base64.b64encode(private.private_bytes_raw() + private.public_key().public_bytes_raw()).decode()


def ec_secret(private: ec.EllipticCurvePrivateKey) -> str:
    return private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise ValueError(f"{what}: {found!r} is not {expected!r}")
