"""The demonstration shows what it says."""

import asyncio
import re

import pytest

from tests.doors.processes import ROOT
from tests.pay import demo


async def test_scripts_pay_demo_pays_twice_and_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert '-m tests.pay.demo "$@"' in (ROOT / "scripts" / "pay-demo").read_text()
    await asyncio.to_thread(demo.show, "solana", 2)
    shown = capsys.readouterr().out
    balances = re.findall(r"^(payer|payee) .*\$([0-9.,]+)$", shown, re.MULTILINE)
    assert balances == [
        ("payer", "1,000.000000"),
        ("payee", "0.000000"),
        ("payer", "999.993500"),
        ("payee", "0.006500"),
    ]
    assert re.findall(r"402 (\$\S+)", shown) == ["$0.005000", "$0.001500"]
    assert shown.count('"success":true') == 2
