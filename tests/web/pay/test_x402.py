"""x402 on the wire: both versions, held against the protocol's own library where that can be done."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from x402.extensions.payment_identifier import extract_payment_identifier
from x402.http.utils import decode_payment_required_header, decode_payment_response_header
from x402.mechanisms.evm.default_assets import DEFAULT_ASSETS as EVM_ASSETS
from x402.mechanisms.svm.default_assets import DEFAULT_ASSETS as SVM_ASSETS
from x402.schemas import PaymentPayload
from x402.schemas.v1 import PaymentRequiredV1

from gossamer.web.pay import solana, x402
from gossamer.web.pay.x402 import (
    BASE,
    BASE_SEPOLIA,
    POLYGON,
    SOLANA,
    SOLANA_DEVNET,
    Malformed,
    Offer,
    PaidResource,
)

PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PAYEE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
NONCE = "0x" + "Ab" * 32
NOW = 1_800_000_000.0
RESOURCE = PaidResource("https://gossamer.example/fetch/basic", "Fetch", "application/json", "Gossamer")
TERMS = x402.terms(BASE_SEPOLIA, PAYEE, 5_000, 300, {})


def authorized(**changes: Any) -> dict[str, Any]:
    authorization = {
        "from": PAYER,
        "to": PAYEE,
        "value": "5000",
        "validAfter": "0",
        "validBefore": str(int(NOW) + 300),
        "nonce": NONCE,
    }
    return {"signature": "0x" + "11" * 65, "authorization": {**authorization, **changes}}


def encoded(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def version_2(payload: Any = None, **changes: Any) -> dict[str, Any]:
    accepted = json.loads(msgspec.json.encode(TERMS))
    return {"x402Version": 2, "payload": payload or authorized(), "accepted": accepted, **changes}


def version_1(payload: Any = None, **changes: Any) -> dict[str, Any]:
    return {
        "x402Version": 1,
        "scheme": "exact",
        "network": "base-sepolia",
        "payload": payload or authorized(),
        **changes,
    }


@pytest.mark.parametrize("network", [BASE, BASE_SEPOLIA, POLYGON])
def test_the_tokens_of_evm_chains_are_those_that_clients_pay_with(network: x402.Network) -> None:
    known = EVM_ASSETS[network.id][0]
    assert network.asset == known["asset"]
    assert network.domain == {"name": known["name"], "version": known["version"]}
    assert known["decimals"] == 6


@pytest.mark.parametrize("network", [SOLANA, SOLANA_DEVNET])
def test_the_tokens_of_solana_are_those_that_clients_pay_with(network: x402.Network) -> None:
    known = SVM_ASSETS[network.id][0]
    assert (network.asset, known["decimals"]) == (known["asset"], 6)


def test_an_offer_is_read_by_clients_of_both_versions() -> None:
    accepts = [
        TERMS,
        x402.terms(SOLANA_DEVNET, "payee", 5_000, 300, {"feePayer": "fee"}),
        x402.terms(POLYGON, PAYEE, 5_000, 300, {}),
    ]
    offer = Offer(RESOURCE, accepts, "pay", {"payment-identifier": {"info": {"required": False}}})
    second: Any = decode_payment_required_header(offer.header())
    assert second.x402_version == 2
    assert [(one.network, one.amount) for one in second.accepts] == [
        (network.id, "5000") for network in (BASE_SEPOLIA, SOLANA_DEVNET, POLYGON)
    ]
    assert second.accepts[0].extra == {"name": "USDC", "version": "2"}
    assert (second.accepts[1].extra, second.accepts[1].max_timeout_seconds) == ({"feePayer": "fee"}, 60)
    first = PaymentRequiredV1.model_validate(offer.members())
    assert first.error == "pay"
    assert [(one.network, one.max_amount_required) for one in first.accepts] == [("base-sepolia", "5000")]
    assert first.accepts[0].resource == RESOURCE.url
    assert isinstance(first.accepts[0].description, str)


def test_both_versions_are_one_payment() -> None:
    first, second = x402.read(encoded(version_1()), 1), x402.read(encoded(version_2()), 2)
    assert (first.network, first.payer, first.nonce) == (second.network, second.payer, second.nonce)
    assert first.payer == PAYER.lower()
    assert first.nonce == NONCE.lower()
    assert first.on_wire(TERMS, RESOURCE, {}) == second.on_wire(TERMS, RESOURCE, {})
    wire = json.loads(msgspec.json.encode(first.on_wire(TERMS, RESOURCE, {})))
    assert PaymentPayload.model_validate(wire).get_network() == BASE_SEPOLIA.id
    assert x402.mismatch(first, TERMS, RESOURCE, NOW) == x402.mismatch(second, TERMS, RESOURCE, NOW) == ""
    assert x402.amount(first) == x402.amount(second) == 5_000


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (version_1(authorized(value="4999")), "amount_mismatch"),
        (version_1(authorized(value="5001")), "amount_mismatch"),
        (version_1(authorized(to=PAYER)), "recipient_mismatch"),
        (version_1(authorized(validBefore=str(int(NOW)))), "authorization_expired"),
        (version_1(authorized(to=PAYEE.lower())), ""),
        (version_2(accepted={**version_2()["accepted"], "asset": PAYER}), "asset_mismatch"),
        (version_2(accepted={**version_2()["accepted"], "asset": BASE_SEPOLIA.asset.lower()}), ""),
        (version_2(accepted={**version_2()["accepted"], "payTo": PAYER}), "recipient_mismatch"),
        (version_2(accepted={**version_2()["accepted"], "amount": "1"}), "amount_mismatch"),
        (version_2(resource={"url": "https://gossamer.example/fetch/pro"}), "resource_mismatch"),
        (version_2(resource={"url": RESOURCE.url}), ""),
    ],
)
def test_a_payment_is_compared_with_the_terms(wire: dict[str, Any], reason: str) -> None:
    payment = x402.read(encoded(wire), wire["x402Version"])
    assert x402.mismatch(payment, TERMS, RESOURCE, NOW) == reason


@pytest.mark.parametrize(
    "header",
    [
        "",
        "not base64!",
        encoded("text"),
        encoded([]),
        encoded({}),
        encoded(version_1()),
        encoded({**version_2(), "accepted": None}),
        encoded(version_2(accepted={**version_2()["accepted"], "network": "eip155:1"})),
        encoded(version_2(accepted={**version_2()["accepted"], "scheme": "upto"})),
        encoded(version_2({"signature": "0x"})),
        encoded(version_2(authorized(nonce="0x12"))),
        encoded(version_2(authorized(**{"from": PAYER[:-1] + "g"}))),
        encoded(version_2(authorized(validBefore="soon"))),
        encoded(version_2(authorized(value="-1"))),
        encoded(version_2(authorized(value=5000))),
        encoded(version_2(authorized(validBefore="9" * 80))),
        encoded(version_2(extensions={"payment-identifier": {"info": {"id": "too short"}}})),
        encoded(version_2(accepted={**version_2()["accepted"], "network": SOLANA.id})),
        "A" * (x402.MAX_PAYMENT_CHARS + 1),
    ],
)
def test_what_is_no_payment(header: str) -> None:
    with pytest.raises(Malformed):
        x402.read(header, 2)


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=10)
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=10), inner))


@given(
    st.dictionaries(st.sampled_from([*version_2(), "scheme", "network", "resource", "extensions"]), values)
)
def test_whatever_is_sent_is_read_or_malformed(changes: dict[str, Any]) -> None:
    for wire, version in ((version_2(**changes), 2), (version_1(**changes), 1)):
        try:
            payment = x402.read(encoded(wire), version)
        except Malformed:
            continue
        x402.mismatch(payment, TERMS, RESOURCE, NOW)
        assert x402.amount(payment) >= 0
        assert payment.lasts_until(NOW) <= NOW + 86_400


@given(st.binary(max_size=400))
def test_whatever_is_said_to_be_a_transaction_is_one_or_not(raw: bytes) -> None:
    try:
        signed = solana.read_signatures(raw)
    except ValueError:
        return
    assert signed.signers


def test_a_payment_is_called_what_the_client_calls_it() -> None:
    wire = version_2(
        extensions={"payment-identifier": {"info": {"required": False, "id": "pay_0123456789ab"}}}
    )
    assert x402.read(encoded(wire), 2).identifier == "pay_0123456789ab"
    assert extract_payment_identifier(PaymentPayload.model_validate(wire)) == "pay_0123456789ab"


def instruction(payer: Pubkey) -> Instruction:
    return Instruction(Pubkey.default(), b"move", [AccountMeta(payer, True, True)])


@pytest.mark.parametrize("versioned", [True, False])
def test_a_solana_payment_is_known_by_its_message(versioned: bool) -> None:
    facilitator, payer = Keypair.from_seed(b"f" * 32), Keypair.from_seed(b"p" * 32)
    steps = [instruction(payer.pubkey())]
    message: Any = (
        MessageV0.try_compile(facilitator.pubkey(), steps, [], Hash.default())
        if versioned
        else Message.new_with_blockhash(steps, facilitator.pubkey(), Hash.default())
    )
    mine = payer.sign_message(to_bytes_versioned(message))
    seen = []
    for other in (
        Signature.default(),
        Signature.new_unique(),
    ):  # anybody can change the one that is not theirs
        raw = bytes(VersionedTransaction.populate(message, [other, mine]))
        wire = version_2(
            {"transaction": base64.b64encode(raw).decode()},
            accepted={
                **version_2()["accepted"],
                "network": SOLANA_DEVNET.id,
                "extra": {"feePayer": str(facilitator.pubkey())},
            },
        )
        seen.append(x402.read(encoded(wire), 2))
    assert {one.nonce for one in seen} == {seen[0].nonce}
    assert {one.payer for one in seen} == {str(payer.pubkey())}
    ours = x402.terms(SOLANA_DEVNET, "payee", 5_000, 300, {"feePayer": "another"})
    assert x402.for_payment(ours, seen[0]).extra["feePayer"] == str(facilitator.pubkey())


def test_a_receipt_is_read_by_clients_of_both_versions() -> None:
    told = dict(x402.receipt(BASE_SEPOLIA, PAYER, "0xabc"))
    second = decode_payment_response_header(told[b"payment-response"].decode())
    assert (second.success, second.transaction, second.network) == (True, "0xabc", BASE_SEPOLIA.id)
    first = json.loads(base64.b64decode(told[b"x-payment-response"]))
    assert first == {"success": True, "payer": PAYER, "transaction": "0xabc", "network": "base-sepolia"}
    failed = dict(x402.receipt(BASE_SEPOLIA, PAYER, "", "insufficient_funds"))
    assert not decode_payment_response_header(failed[b"payment-response"].decode()).success


@pytest.mark.parametrize(
    ("said", "spent"),
    [
        ("invalid_exact_evm_nonce_already_used", True),
        ("FiatTokenV2: authorization is used or canceled; already used", True),
        ("transaction_simulation_failed: AlreadyProcessed", True),
        ("duplicate_settlement", True),
        ("insufficient_funds", False),
        ("invalid_exact_evm_payload_authorization_valid_before", False),
        (None, False),
    ],
)
def test_what_means_that_a_payment_was_made_before(said: str | None, spent: bool) -> None:
    assert x402.is_spent(said) is spent


@pytest.mark.parametrize(
    ("said", "untold"),
    [
        ("settlement_pending", True),
        ("transaction_failed", True),
        ("unexpected_settle_error", True),
        ("settle_exact_evm_transaction_confirmation_timed_out", True),
        ("settle_exact_failed_onchain", True),
        ("settle_exact_node_failure", True),
        ("invalid_exact_evm_failed_to_get_receipt", True),
        ("unknown_error", True),
        ("insufficient_funds", False),
        ("invalid_exact_evm_payload_signature", False),
    ],
)
def test_what_leaves_open_whether_money_moves(said: str, untold: bool) -> None:
    assert x402.is_untold(said) is untold
