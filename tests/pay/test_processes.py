"""Payments where several servers share a database, and where clients go away."""

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import httpx

from tests.doors.fetches import say
from tests.doors.processes import Start
from tests.doors.services import PUBLIC_URL
from tests.pay import payers
from tests.pay.payers import Income
from tests.pay.shops import ARTICLE, BASIC, UNLIMITED, ended, signed
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site

SECONDS = 60.0


def settings(chains: Chains) -> dict[str, Any]:
    ours = {"public_url": PUBLIC_URL, "egress_allow": "127.0.0.1/32", "egress_ports": "*"}
    return {**chains.settings, **UNLIMITED, **ours}


def calling(port: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS)


async def test_one_signature_sent_to_two_servers_is_one_execution(
    start_server: Start, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    ports = [start_server(**settings(chains)).port for _ in range(2)]
    income, target = Income(chains), say(ARTICLE, pause=0.5)
    url = site.url(target)
    async with calling(ports[0]) as one, calling(ports[1]) as other:
        payment = await signed(one, payers.wallet(chains), url)
        sending = [
            client.post("/fetch/basic", json={"url": url}, headers=payment)
            for _ in range(50)
            for client in (one, other)
        ]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sending))
        assert statuses[200] == 1
        assert statuses[200] + statuses[409] + statuses[402] == 100
        assert len(site.seen(target)) == 1
        assert (facilitator.count("verify"), facilitator.count("settle")) == (1, 1)
        assert income.taken() == BASIC


async def test_who_went_away_while_it_was_settled_gets_the_answer_on_coming_back(
    start_server: Start, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    server = start_server(**settings(chains))
    income, url = Income(chains), site.url(say(ARTICLE))
    async with calling(server.port) as client:
        payment = await signed(client, payers.wallet(chains), url)
        facilitator.fail("settle", Fault.DONE_THEN_HANG)
        sending = asyncio.create_task(client.post("/fetch/basic", json={"url": url}, headers=payment))
        async with asyncio.timeout(SECONDS):
            while not income.taken():
                await asyncio.sleep(0.01)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    facilitator.reset()
    async with calling(server.port) as client:
        send = partial(client.post, "/fetch/basic", json={"url": url}, headers=payment)
        answer = await ended(send)
        assert answer.status_code == 200, answer.text
        assert answer.json()["title"] == "Worth it"
        assert (await ended(send)).status_code == 402
    assert income.taken() == BASIC
    assert facilitator.count("settle") == 0  # since then
