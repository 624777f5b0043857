"""Wallets that anybody can make again: their keys are hashes of their names. They must never hold money."""

import hashlib

from eth_account import Account
from eth_account.signers.local import LocalAccount
from solders.keypair import Keypair


def evm(name: str) -> LocalAccount:
    """`.address` pays and is paid; the whole signs."""
    account: LocalAccount = Account.from_key(_secret(name))
    return account


def svm(name: str) -> Keypair:
    return Keypair.from_seed(_secret(name))


def _secret(name: str) -> bytes:
    return hashlib.sha256(f"a wallet of the tests: {name}".encode()).digest()
