"""The clients that people install with npm, each against a server as people start it."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.doors.fetches import say
from tests.doors.processes import Start
from tests.pay.payers import Income
from tests.pay.shops import ARTICLE, BASIC, UNLIMITED
from tests.programs import run, usual_environ
from tests.servers.chains import wallets
from tests.servers.chains.facilitator import Facilitator
from tests.servers.chains.fixtures import PAYER, Chains
from tests.site.server import Site


def purchase(client: str, server: str, url: str, wallet: dict[str, str]) -> dict[str, Any]:
    body = json.dumps({"url": url})
    return {"client": client, "url": f"{server}/fetch/basic", "body": body, "wallet": wallet}


async def pay(script: Path, *purchases: dict[str, Any]) -> list[dict[str, Any]]:
    """All at once in one process. The clients are loaded once for all of them."""
    answers: list[dict[str, Any]] = (await run(usual_environ(), "node", script, json.dumps(purchases))).json()
    return answers


async def test_npm_clients_of_both_versions_pay_exactly_the_price(
    node_clients: Path, start_gossamer: Start, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    settings = {**chains.settings, **UNLIMITED, "egress_allow": "127.0.0.1/32", "egress_ports": "*"}
    server = f"http://127.0.0.1:{start_gossamer(**settings).port}"
    ethereum = {"evm": "0x" + wallets.evm(PAYER).key.hex().removeprefix("0x")}
    solana = {"svm": bytes(wallets.svm(PAYER).secret()).hex(), "rpc": chains.solana.url}
    clients = [
        ("x402-fetch", "base", ethereum, "x-payment-response", "base-sepolia"),
        ("@x402/fetch", "base", ethereum, "payment-response", chains.base.network),
        ("@x402/fetch", "solana", solana, "payment-response", chains.solana.network),
    ]
    for client, network, wallet, header, said in clients:
        income = Income(chains, network)
        (answer,) = await pay(node_clients, purchase(client, server, site.url(say(ARTICLE)), wallet))
        assert answer["status"] == 200, answer
        assert json.loads(answer["body"])["title"] == "Worth it"
        receipt = json.loads(base64.b64decode(answer["headers"][header]))
        assert (receipt["success"], receipt["network"]) == (True, said)
        assert income.taken() == BASIC
    assert facilitator.count("settle") == len(clients)
