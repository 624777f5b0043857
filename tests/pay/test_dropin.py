"""A wallet pays at a door for clients of another product, as it does at our own."""

from pathlib import Path

import pytest

from tests.pay.payers import Income
from tests.pay.shops import BASIC, opened_shop
from tests.servers.chains.facilitator import Facilitator
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site


@pytest.mark.parametrize("version", [1, 2])
async def test_a_reader_pays_for_a_page_once(
    version: int, tmp_path: Path, sqlite: str, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains) as shop:
        income, url = Income(chains), shop.page()
        async with shop.buyer(version=version) as buyer:
            answer = await buyer.get(f"/r/{url}", headers={"X-Engine": "direct", "X-No-Cache": "true"})
        assert answer.status_code == 200, answer.text
        assert answer.text.startswith("Title: Worth it\n")
        assert income.taken() == BASIC
        assert shop.visits(url) == 1
        assert answer.headers["payment-response" if version == 2 else "x-payment-response"]
