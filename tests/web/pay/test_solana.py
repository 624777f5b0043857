"""Solana's addresses; its transactions are tested with payments, in `test_x402`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from gossamer.web.pay import solana


@given(raw=st.binary(max_size=40))
def test_base58_there_and_back(raw: bytes) -> None:
    assert solana.from_base58(solana.base58(raw)) == raw


@given(raw=st.binary(min_size=32, max_size=32).filter(any))
def test_every_key_is_an_address(raw: bytes) -> None:
    address = str(Pubkey(raw))
    assert solana.fault(address) == ""
    assert "bytes" in solana.fault(address[:-2])


@pytest.mark.parametrize("address", ["z" * 44, "1" * 31, "1" * 33, "1" * 32])
def test_what_is_nobodys(address: str) -> None:
    assert solana.fault(address)
