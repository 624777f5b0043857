"""A server that is killed in the middle of payments: at the next start each is resumed or released."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx

from tests.doors.fetches import say
from tests.doors.processes import Start
from tests.doors.services import AS_ADMIN
from tests.pay import payers
from tests.pay.shops import ARTICLE, BASIC, UNLIMITED, ended, signed
from tests.servers.chains import wallets
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import Chains
from tests.servers.daemon import free_port
from tests.site.server import Site

WAIT_SECONDS = 90.0
PHASES = {  # where each payment was when the server was killed, and what is known of it afterwards
    "verifying": "released",
    "serving": "released",
    "settling": "pending",
    "settled": "settled",
}
STOPPED = {
    "verifying": ("verify", Fault.HANG),
    "settling": ("settle", Fault.HANG),
    "settled": ("settle", Fault.DONE_THEN_HANG),
}


class Buyers:
    """A wallet for each phase, a page for each, and what each has paid."""

    def __init__(self, chains: Chains, site: Site) -> None:
        self.chains = chains
        self.targets = {name: say(ARTICLE, pause=60.0 if name == "serving" else 0.0) for name in PHASES}
        self.urls = {name: site.url(target) for name, target in self.targets.items()}
        self.payments: dict[str, dict[str, str]] = {}
        for name in PHASES:
            chains.base.fund(self.address(name), 10 * BASIC)
        self._before = self._balances()

    @staticmethod
    def address(name: str) -> str:
        return wallets.evm(name).address

    def paid(self) -> dict[str, int]:
        return {name: self._before[name] - has for name, has in self._balances().items()}

    def _balances(self) -> dict[str, int]:
        return dict(zip(PHASES, self.chains.base.balances(*map(self.address, PHASES)), strict=True))

    async def sign(self, client: httpx.AsyncClient) -> None:
        for name in PHASES:
            wallet = payers.wallet(self.chains, name=name)
            self.payments[name] = await signed(client, wallet, self.urls[name])

    async def send(self, client: httpx.AsyncClient, name: str) -> httpx.Response:
        return await client.post("/fetch/basic", json={"url": self.urls[name]}, headers=self.payments[name])


def calling(port: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_SECONDS)


async def known(client: httpx.AsyncClient) -> Mapping[str, str]:
    """The state of each payment, by its payer."""
    rows: list[dict[str, Any]] = (await client.get("/api/payments", headers=AS_ADMIN)).json()["payments"]
    names = {Buyers.address(name).lower(): name for name in PHASES}
    return {names[row["payer"].lower()]: row["state"] for row in rows}


async def test_killed_at_each_phase(
    start_gossamer: Start, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    settings = {
        **chains.settings,
        **UNLIMITED,
        "port": free_port(),  # the same after the kill: what is paid for is called by its address
        "egress_allow": "127.0.0.1/32",
        "egress_ports": "*",
        "facilitator_verify_seconds": 60,
        "facilitator_settle_seconds": 60,
    }
    buyers = Buyers(chains, site)
    for name, (phase, fault) in STOPPED.items():
        facilitator.fail(phase, fault, payer=buyers.address(name))

    server = start_gossamer(**settings)
    async with calling(server.port) as client:
        await buyers.sign(client)
        sending = [asyncio.create_task(buyers.send(client, name)) for name in PHASES]
        for name, (phase, _) in STOPPED.items():
            await facilitator.reached(phase, payer=buyers.address(name))
        async with asyncio.timeout(WAIT_SECONDS):
            while not site.seen(buyers.targets["serving"]) or not buyers.paid()["settled"]:
                await asyncio.sleep(0.01)
        server.kill()
        cut = await asyncio.gather(*sending, return_exceptions=True)
    assert all(isinstance(one, httpx.TransportError) for one in cut)
    assert buyers.paid() == {"verifying": 0, "serving": 0, "settling": 0, "settled": BASIC}

    facilitator.reset()
    say(ARTICLE, target=buyers.targets["serving"])
    async with calling(start_gossamer(**settings).port) as client, asyncio.timeout(WAIT_SECONDS):
        while await known(client) != PHASES:
            await asyncio.sleep(0.1)
        assert buyers.paid() == {"verifying": 0, "serving": 0, "settling": 0, "settled": BASIC}
        answers = {name: await buyers.send(client, name) for name in PHASES}
        assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(PHASES, 200)
        assert {answer.json()["title"] for answer in answers.values()} == {"Worth it"}
        assert buyers.paid() == dict.fromkeys(PHASES, BASIC)
        again = [(await ended(partial(buyers.send, client, name))).status_code for name in PHASES]
        assert again == [402] * len(PHASES)
        assert buyers.paid() == dict.fromkeys(PHASES, BASIC)
    assert facilitator.count("settle") == 3  # the money of the fourth was moved before
