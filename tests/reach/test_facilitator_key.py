"""The token that a facilitator knows us by, and secrets that are none."""

import base64
import hashlib
import itertools
import json
import time
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.servers.chains.doorman import Doorman, Private, decoded, ec_secret, ed25519_secret

from gossamer.reach.services.facilitator_key import FacilitatorKey, read_private

KEY_ID = "organizations/a1/apiKeys/b2"
SEED = hashlib.sha256(b"a key of the tests").digest()
EDWARDS = ed25519.Ed25519PrivateKey.from_private_bytes(SEED)
CURVE = ec.derive_private_key(int.from_bytes(SEED[:31], "big"), ec.SECP256R1())
SECRETS = {"EdDSA": ed25519_secret(EDWARDS), "ES256": ec_secret(CURVE)}
PRIVATE: dict[str, Private] = {"EdDSA": EDWARDS, "ES256": CURVE}
VERIFY = ("POST", "api.example", "/platform/v2/x402/verify")


def key(secret: str, clock: Callable[[], float] = time.time, key_id: str = KEY_ID) -> FacilitatorKey:
    numbers = itertools.count()
    return FacilitatorKey(key_id, read_private(secret), clock, lambda: f"nonce-{next(numbers)}")


@pytest.mark.parametrize("algorithm", SECRETS)
def test_a_token_is_for_one_request_and_two_minutes(algorithm: str) -> None:
    doorman = Doorman(KEY_ID, PRIVATE[algorithm].public_key())
    ours = key(SECRETS[algorithm])
    token = ours.token(*VERIFY)
    assert doorman.admits(*VERIFY, f"Bearer {token}"), doorman.refusals
    assert not doorman.admits(*VERIFY, f"Bearer {token}")  # once
    method, host, path = VERIFY
    for other in (("GET", host, path), (method, "other.example", path), (method, host, "/v2/x402/settle")):
        assert not doorman.admits(*other, f"Bearer {ours.token(*VERIFY)}")
        assert doorman.admits(*other, f"Bearer {ours.token(*other)}"), doorman.refusals
    for late in (-1_000.0, 1_000.0):
        wrong = key(SECRETS[algorithm], lambda late=late: time.time() + late)  # type: ignore[misc]
        assert not doorman.admits(*VERIFY, f"Bearer {wrong.token(*VERIFY)}")
    head, claims = (json.loads(decoded(part)) for part in token.split(".")[:2])
    assert head == {"alg": algorithm, "typ": "JWT", "kid": KEY_ID, "nonce": "nonce-0"}
    assert claims["exp"] - claims["nbf"] == 120
    assert SECRETS[algorithm] not in repr(ours)


@pytest.mark.parametrize("algorithm", SECRETS)
def test_another_key_is_not_let_in(algorithm: str) -> None:
    other: dict[str, Private] = {
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
    }
    doorman = Doorman(KEY_ID, other[algorithm].public_key())
    assert not doorman.admits(*VERIFY, f"Bearer {key(SECRETS[algorithm]).token(*VERIFY)}")
    doorman = Doorman(KEY_ID, PRIVATE[algorithm].public_key())
    assert not doorman.admits(*VERIFY, f"Bearer {key(SECRETS[algorithm], key_id='else').token(*VERIFY)}")
    assert not doorman.admits(*VERIFY, "")


def test_a_signature_has_64_bytes_however_small_its_numbers_are() -> None:
    doorman, ours = Doorman(KEY_ID, CURVE.public_key()), key(SECRETS["ES256"])
    for _ in range(600):  # one in 128 has a number of fewer than 32 bytes
        assert doorman.admits(*VERIFY, f"Bearer {ours.token(*VERIFY)}"), doorman.refusals


def pem(private: Private | rsa.RSAPrivateKey) -> str:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize(
    ("secret", "algorithm"),
    [
        (f" {SECRETS['EdDSA']}\n", "EdDSA"),
        (pem(EDWARDS), "EdDSA"),
        (pem(CURVE), "ES256"),
        (SECRETS["ES256"].replace("\n", "\\n"), "ES256"),  # on one line, as in a .env file
        (SECRETS["ES256"].replace("\n", " "), "ES256"),
    ],
    ids=["spaces", "edwards in pem", "curve in pkcs8", "one line", "lines lost"],
)
def test_a_secret_is_read_in_every_form_that_it_is_handed_out_in(secret: str, algorithm: str) -> None:
    assert key(secret).algorithm == algorithm


def broken(secret: str) -> str:
    raw = bytearray(base64.b64decode(secret))
    raw[3] ^= 1
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("not a key!", "neither base64 nor PEM"),
        ("0xáéí", "neither base64 nor PEM"),
        (base64.b64encode(SEED).decode(), "has 32 bytes, and an Ed25519 key has 64"),
        (SECRETS["EdDSA"][:-8], "bytes"),
        (broken(SECRETS["EdDSA"]), "halves do not belong together"),
        (SECRETS["ES256"][:60], "cannot be read"),
        (pem(rsa.generate_private_key(65537, 1024)), "another kind"),
        (ec_secret(ec.generate_private_key(ec.SECP384R1())), "another kind"),
    ],
    ids=["words", "letters", "half", "cut", "typo", "cut pem", "rsa", "other curve"],
)
def test_a_secret_that_is_none_is_told_without_itself(secret: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        read_private(secret)
    assert secret not in str(caught.value)
    assert caught.value.__cause__ is None
