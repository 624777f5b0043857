"""EVM addresses, and the hash that their check is made with."""

import hashlib

import pytest
from Crypto.Hash import keccak
from eth_utils.address import is_checksum_address, to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.pay import evm


@settings(max_examples=50)
@given(data=st.binary(max_size=300) | st.sampled_from([135, 136, 137, 272]).map(bytes))
def test_the_hash_is_keccak_and_with_its_suffix_sha3(data: bytes) -> None:
    assert evm.keccak_256(data) == keccak.new(digest_bits=256, data=data).digest()
    assert evm.keccak_256(data, 0x06) == hashlib.sha3_256(data).digest()


@pytest.mark.parametrize(
    "address",
    [
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ],
)
def test_eip55_the_addresses_of_the_specification(address: str) -> None:
    assert evm.fault(address) == ""


@settings(max_examples=100)
@given(
    raw=st.binary(min_size=20, max_size=20).filter(any), at=st.integers(2, 41), digit=st.sampled_from("0aF")
)
def test_eip55_is_judged_as_others_judge_it(raw: bytes, at: int, digit: str) -> None:
    address: str = to_checksum_address(raw)
    assert evm.fault(address) == ""
    mistyped = address[:at] + digit + address[at + 1 :]
    if mistyped[2:] not in (mistyped[2:].lower(), mistyped[2:].upper()):
        assert (evm.fault(mistyped) == "") == is_checksum_address(mistyped)


def test_the_zero_address_is_nobodys() -> None:
    assert "zero" in evm.fault("0x" + "0" * 40)
