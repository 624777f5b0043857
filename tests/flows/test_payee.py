"""Where money is taken, and settings with which none could be."""

import io
from pathlib import Path
from typing import Any

import pytest
from tests.reach.test_facilitator_key import KEY_ID, SECRETS

from gossamer.app import Service
from gossamer.flows.pay.payee import facilitator_key, open_payees
from gossamer.observe.logs import Log
from gossamer.settings.settings import CDP_FACILITATOR, TEST_FACILITATOR, SettingError, Settings

ELSEWHERE = "http://127.0.0.1:1"
KEYED = {"cdp_api_key_id": KEY_ID, "cdp_api_key_secret": SECRETS["EdDSA"]}


def loaded(**flags: Any) -> Settings:
    return Settings.load({}, None, flags)


EVM, SVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"


@pytest.mark.parametrize(
    ("evm", "svm", "parts"),
    [
        (EVM.replace("53F", "54F"), SVM, ("wallet_address", "EIP-55", EVM[-8:])),
        (EVM.replace("C9", "c9"), SVM, ("wallet_address", "EIP-55")),
        ("0x" + "0" * 40, SVM, ("wallet_address", "zero address")),
        (EVM, "z" * 44, ("wallet_svm", "33 bytes", "32")),
        (EVM, SVM[:34], ("wallet_svm", "25 bytes", "32")),
        (EVM, "1" * 32, ("wallet_svm", "system program")),
    ],
    ids=["digit", "case", "zero", "too long", "too short", "system program"],
)
async def test_a_mistyped_wallet_stops_the_start(
    evm: str, svm: str, parts: tuple[str, ...], tmp_path: Path
) -> None:
    settings = loaded(wallet_address=evm, wallet_svm=svm, data_dir=str(tmp_path))
    with pytest.raises(SettingError) as caught:
        Service(settings, Log(io.StringIO()))
    assert all(part in str(caught.value) for part in parts), caught.value


@pytest.mark.parametrize("evm", [EVM, EVM.lower(), "0x" + EVM[2:].upper()])
async def test_wallets_as_they_are_written(evm: str, tmp_path: Path) -> None:
    service = Service(loaded(wallet_address=evm, wallet_svm=SVM, data_dir=str(tmp_path)), Log(io.StringIO()))
    assert service.payments is not None
    assert {payee.address for payee in service.payments.settling.payees.values()} == {evm, SVM}
    await service.close()


def test_polygon_has_no_test_network() -> None:
    log = Log(io.StringIO())
    with pytest.raises(SettingError, match="network=base"):
        open_payees(loaded(pay_polygon=True), log)
    found = open_payees(loaded(pay_polygon=True, network="base", cdp_facilitator_url=ELSEWHERE), log)
    assert [payee.network.name for payee in found] == ["base", "solana", "polygon"]


def test_who_has_a_key_of_coinbases_asks_its_facilitator() -> None:
    assert loaded().cdp_facilitator_url == TEST_FACILITATOR
    assert loaded(**KEYED).cdp_facilitator_url == CDP_FACILITATOR
    assert loaded(**KEYED, cdp_facilitator_url=ELSEWHERE).cdp_facilitator_url == ELSEWHERE
    assert facilitator_key(loaded()) is None
    for network in ("base", "base-sepolia"):
        for algorithm, secret in SECRETS.items():
            found = facilitator_key(loaded(**{**KEYED, "cdp_api_key_secret": secret}, network=network))
            assert found is not None
            assert (found.id, found.algorithm) == (KEY_ID, algorithm)
            assert found.nonce() != found.nonce()


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        ({"network": "base"}, ("real money", TEST_FACILITATOR, "cdp_api_key_id", "cdp_facilitator_url")),
        ({**KEYED, "network": "base", "cdp_facilitator_url": TEST_FACILITATOR}, ("real money",)),
        ({"cdp_facilitator_url": CDP_FACILITATOR}, ("Coinbase's", "needs a key", "cdp_api_key_secret")),
        ({"cdp_api_key_id": KEY_ID}, ("belong together",)),
        ({"cdp_api_key_secret": SECRETS["EdDSA"]}, ("belong together",)),
        ({**KEYED, "cdp_api_key_secret": SECRETS["EdDSA"][:-4]}, ("cdp_api_key_secret", "63 bytes", "PEM")),
    ],
    ids=["no key", "test facilitator", "coinbase's without key", "id alone", "secret alone", "cut off"],
)
def test_what_cannot_take_money_stops_the_start(flags: dict[str, Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(SettingError) as caught:
        open_payees(loaded(**flags), Log(io.StringIO()))
    message = str(caught.value)
    assert "\n" not in message
    assert all(part in message for part in parts), message
    assert SECRETS["EdDSA"][:20] not in message
