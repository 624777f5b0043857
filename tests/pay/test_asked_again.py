"""A server is killed anywhere in paid requests. Clients ask again, as they do: with a new payment."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from x402.http.clients.httpx import PaymentError

from tests.doors.fetches import say
from tests.doors.processes import Process, Start
from tests.doors.services import AS_ADMIN
from tests.pay import payers
from tests.pay.shops import ARTICLE, BASIC, UNLIMITED
from tests.pay.test_node import pay, purchase
from tests.servers.chains import wallets
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import Chains
from tests.servers.daemon import free_port
from tests.site.server import Site

WAIT_SECONDS = 90.0
BUYERS = 12


class Buyer:
    """A wallet, a page that it wants, and a client that nobody has taught about kills."""

    def __init__(self, chains: Chains, site: Site, name: str, *, pause: float = 0.0) -> None:
        self.name = name
        self.target = say(ARTICLE, pause=pause)
        self.url = site.url(self.target)
        self.address = wallets.evm(name).address
        self.answers = 0
        self._chains = chains
        chains.base.fund(self.address, 10 * BASIC)
        self._had = self._has()

    async def ask(self, server: str) -> int:
        """The status, or 0 where the connection was lost."""
        wallet = payers.wallet(self._chains, name=self.name)
        transport = httpx.AsyncHTTPTransport()
        async with payers.paying(wallet, transport) as client:
            client.base_url, client.timeout = httpx.URL(server), httpx.Timeout(WAIT_SECONDS)
            try:
                answer = await client.post("/fetch/basic", json={"url": self.url})
            except (httpx.TransportError, PaymentError):
                return 0
        self.count(answer.status_code, answer.text)
        return answer.status_code

    def count(self, status: int, body: str) -> None:
        if status == 200:
            assert json.loads(body)["title"] == "Worth it"
            self.answers += 1

    @property
    def wallet(self) -> dict[str, str]:
        """As clients in Node take it."""
        return {"evm": "0x" + wallets.evm(self.name).key.hex().removeprefix("0x")}

    def paid(self) -> int:
        return self._had - self._has()

    def _has(self) -> int:
        (balance,) = self._chains.base.balances(self.address)
        return int(balance)


def settings(chains: Chains) -> dict[str, Any]:
    return {
        **chains.settings,
        **UNLIMITED,
        "port": free_port(),  # the same after the kill: what is paid for is called by its address
        "egress_allow": "127.0.0.1/32",
        "egress_ports": "*",
        "facilitator_verify_seconds": 60,
        "facilitator_settle_seconds": 60,
    }


def address(server: Process) -> str:
    return f"http://127.0.0.1:{server.port}"


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not holds():
            await asyncio.sleep(0.005)


STOPS = {  # where each is when the server is killed, and whether its money has moved
    "verifying": ("verify", Fault.HANG, False),
    "serving": ("", None, False),
    "settling": ("settle", Fault.HANG, False),
    "settled": ("settle", Fault.DONE_THEN_HANG, True),
}
CLIENTS = ("x402", "@x402/fetch", "x402-fetch")  # Python's, and two of npm's: with each, somebody asks again


async def test_killed_at_each_phase_clients_that_ask_again_pay_once(
    node_clients: Path, start_gossamer: Start, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    ours = settings(chains)
    buyers = {
        (phase, client): Buyer(chains, site, f"{phase} {client}", pause=60.0 if phase == "serving" else 0.0)
        for phase in STOPS
        for client in CLIENTS
    }
    for (phase, _), buyer in buyers.items():
        asked, fault, _ = STOPS[phase]
        if fault is not None:
            facilitator.fail(asked, fault, payer=buyer.address)
    server = start_gossamer(**ours)
    asking = [asyncio.create_task(buyer.ask(address(server))) for buyer in buyers.values()]
    for (phase, _), buyer in buyers.items():
        asked, fault, has_moved = STOPS[phase]
        if fault is None:
            await until(partial(site.seen, buyer.target))
        else:
            await facilitator.reached(asked, payer=buyer.address)
        if has_moved:
            await until(buyer.paid)
    server.kill()
    assert await asyncio.gather(*asking) == [0] * len(buyers)
    moved = {key: buyer.paid() for key, buyer in buyers.items()}
    assert moved == {(phase, client): BASIC if STOPS[phase][2] else 0 for phase, client in buyers}

    facilitator.reset()
    for buyer in buyers.values():
        say(ARTICLE, target=buyer.target)
    where = address(start_gossamer(**ours))

    async def ask_with_npm() -> list[int]:
        asking = {key: buyer for key, buyer in buyers.items() if key[1] != "x402"}
        answers = await pay(
            node_clients,
            *(purchase(client, where, buyer.url, buyer.wallet) for (_, client), buyer in asking.items()),
        )
        for buyer, answer in zip(asking.values(), answers, strict=True):
            buyer.count(answer["status"], answer["body"])
        return [answer["status"] for answer in answers]

    asking_again = asyncio.gather(
        *(buyer.ask(where) for (_, client), buyer in buyers.items() if client == "x402")
    )
    with_npm, with_python = await asyncio.gather(ask_with_npm(), asking_again)
    assert [*with_npm, *with_python] == [200] * len(buyers)
    assert {key: buyer.paid() for key, buyer in buyers.items()} == dict.fromkeys(buyers, BASIC)

    settled = [buyers["settled", client] for client in CLIENTS]
    async with httpx.AsyncClient(base_url=where, headers=AS_ADMIN) as client:
        assert (await client.get("/api/payments?state=owed")).json()["payments"] == []
        unproven = (await client.get("/api/payments?state=unproven")).json()["payments"]
    assert {one["payer"] for one in unproven} == {buyer.address.lower() for buyer in settled}
    assert [await buyer.ask(where) for buyer in settled] == [200] * len(settled)
    assert [buyer.paid() for buyer in settled] == [2 * BASIC] * len(settled)  # nothing is owed any more


@pytest.mark.parametrize("answered", [2, 7])
async def test_killed_wherever_it_is_money_moves_once_for_each_answer(
    answered: int, start_gossamer: Start, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    """Many are under way when so many have been answered: at other places each time, and it never matters."""
    ours = settings(chains)
    buyers = [Buyer(chains, site, f"{answered} {number}") for number in range(BUYERS)]
    server = start_gossamer(**ours)
    asking = [asyncio.create_task(buyer.ask(address(server))) for buyer in buyers]
    await until(lambda: sum(buyer.answers for buyer in buyers) >= answered)
    server.kill()
    await asyncio.gather(*asking)
    server = start_gossamer(**ours)
    again = [buyer for buyer in buyers if not buyer.answers]
    assert await asyncio.gather(*(buyer.ask(address(server)) for buyer in again)) == [200] * len(again)
    assert [buyer.paid() for buyer in buyers] == [BASIC] * BUYERS
