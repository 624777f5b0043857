"""The chains and the facilitator as fixtures. What they need is imported by the tests that ask for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.servers.chains.evm import EvmChain
    from tests.servers.chains.facilitator import Facilitator
    from tests.servers.chains.svm import SvmChain

FUNDS = 1_000_000_000  # in millionths of a dollar
PAYER, PAYEE, POOR = "payer", "payee", "poor"
DEEPEST = sys.getrecursionlimit()


def pytest_runtest_setup() -> None:
    """py-evm raises the bound for the whole process; what leans on it, as json does, would crash it."""
    sys.setrecursionlimit(DEEPEST)


class Chains:
    """Twins of the test networks and of the real ones, with a payer who has funds and one who has none."""

    @cached_property
    def base(self) -> EvmChain:
        return _evm(84532)

    @cached_property
    def solana(self) -> SvmChain:
        from tests.servers.chains.svm import DEVNET

        return _svm(*DEVNET)

    @cached_property
    def base_mainnet(self) -> EvmChain:
        return _evm(8453)

    @cached_property
    def polygon(self) -> EvmChain:
        return _evm(137)

    @cached_property
    def solana_mainnet(self) -> SvmChain:
        from tests.servers.chains.svm import MAINNET

        return _svm(*MAINNET)

    @cached_property
    def facilitator(self) -> Facilitator:
        from tests.servers.chains.facilitator import Facilitator

        return Facilitator(self.base, self.solana, self.base_mainnet, self.polygon, self.solana_mainnet)

    @property
    def settings(self) -> dict[str, Any]:
        """What a service needs to take payments on the test networks. Nothing is left to a default."""
        from tests.servers.chains import wallets

        return {
            "network": "base-sepolia",
            "wallet_address": wallets.evm(PAYEE).address,
            "wallet_svm": str(wallets.svm(PAYEE).pubkey()),
            "cdp_facilitator_url": self.facilitator.url,
            "payai_facilitator_url": self.facilitator.url,
        }

    @property
    def mainnet_settings(self) -> dict[str, Any]:
        """The same for the real networks, as far as it knows."""
        return {**self.settings, "network": "base", "pay_polygon": True}

    def close(self) -> None:
        opened = vars(self)
        for name in ("facilitator", "base", "base_mainnet", "polygon", "solana", "solana_mainnet"):
            if name in opened:
                opened[name].close()


def _evm(chain_id: int) -> EvmChain:
    from tests.servers.chains import wallets
    from tests.servers.chains.evm import EvmChain

    chain = EvmChain(chain_id)
    chain.fund(wallets.evm(PAYER).address, FUNDS)
    return chain


def _svm(network: str, asset: str) -> SvmChain:
    from tests.servers.chains import wallets
    from tests.servers.chains.svm import SvmChain

    chain = SvmChain(network, asset)
    for name, units in ((PAYER, FUNDS), (PAYEE, 0)):
        chain.fund(str(wallets.svm(name).pubkey()), units)
    return chain


@pytest.fixture(scope="session")
def chains() -> Iterator[Chains]:
    """For all tests: look at how balances change, not at what they are."""
    opened = Chains()
    yield opened
    opened.close()


@pytest.fixture
def facilitator(chains: Chains) -> Iterator[Facilitator]:
    """Settles on the chains; its script and its counts are the test's own."""
    chains.facilitator.reset()
    yield chains.facilitator
    chains.facilitator.reset()
