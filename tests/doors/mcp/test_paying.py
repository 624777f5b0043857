"""Tools that are paid for over MCP: in both forms, once, and with every coin counted."""

import asyncio
import re
from typing import Any

import msgspec
import pytest
from x402.extensions.payment_identifier import append_payment_identifier_to_extensions
from x402.schemas import PaymentRequired

from gossamer.doors.mcp.tools import following
from tests.doors.mcp.ground import Ground
from tests.doors.mcp.test_http import META, MODERN
from tests.pay import payers
from tests.pay.payers import Income
from tests.pay.shops import BASIC
from tests.pay.test_orders import AUDIT, CRAWL
from tests.servers.chains.fixtures import Chains

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
PAYS: dict[str, Any] = {CAPABILITIES: {"extensions": {"org.x402/payment": {}}}}


async def ask(ground: Ground, url: str, payment: Any = None, *, meta: Any = None, tool: str = "fetch") -> Any:
    """A call without a key, in the handshake era unless `meta` is given."""
    shown = {**(meta or {}), **({"x402/payment": payment} if payment is not None else {})}
    params = {"name": tool, "arguments": {"url": url, "render": "never"}, "_meta": shown}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool} if meta else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await ground.post(body, headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def sign(chains: Chains, terms: Any, name: str = "") -> Any:
    offered = PaymentRequired.model_validate(terms)
    payload: Any = await payers.wallet(chains).create_payment_payload(offered)
    if name:
        given: dict[str, Any] = dict(offered.extensions or {})
        append_payment_identifier_to_extensions(given, name)
        payload = payload.model_copy(update={"extensions": given})
    return msgspec.json.decode(payload.model_dump_json(by_alias=True, exclude_none=True))


@pytest.mark.parametrize("era", ["handshake", "modern", "extension"])
async def test_a_tool_is_paid_for_once_and_tells_the_receipt(
    ground: Ground, chains: Chains, era: str
) -> None:
    url, income = ground.page(), Income(chains)
    meta = {"handshake": None, "modern": META, "extension": {**META, **PAYS}}[era]
    asked = await ask(ground, url, meta=meta)
    if era == "extension":
        assert asked["resultType"] == "payment_required"
        terms = asked["paymentRequired"]
    else:
        assert asked["isError"]
        terms = asked["structuredContent"]
        assert msgspec.json.decode(asked["content"][0]["text"]) == terms
    assert terms["resource"]["url"] == "mcp://tool/fetch"
    assert ground.fetching.visits("/" + url.split("/", 3)[3]) == 0
    paid = await ask(ground, url, await sign(chains, terms), meta=meta)
    assert not paid["isError"]
    assert paid["_meta"]["x402/payment-response"]["success"] is True
    assert income.taken() == BASIC


async def test_a_payment_is_for_its_tool_alone(ground: Ground, chains: Chains) -> None:
    url, income = ground.page(), Income(chains)
    terms = (await ask(ground, url))["structuredContent"]
    payment = await sign(chains, terms)
    other = await ask(ground, url, payment, tool="extract")
    assert other["isError"]
    assert income.taken() == 0
    elsewhere = {**payment, "resource": {**payment["resource"], "url": f"{ground.address}/fetch"}}
    refused = await ask(ground, url, elsewhere)
    assert refused["isError"]
    assert income.taken() == 0


async def test_a_replayed_payment_is_charged_once(ground: Ground, chains: Chains) -> None:
    url, income = ground.page(), Income(chains)
    payment = await sign(chains, (await ask(ground, url))["structuredContent"])
    answers = await asyncio.gather(*(ask(ground, url, payment) for _ in range(4)))
    again = await ask(ground, url, payment)
    assert [not answer["isError"] for answer in answers].count(True) == 1
    assert again["isError"]
    assert income.taken() == BASIC


async def test_payment_identifier_the_same_payment_gets_the_same_answer(
    ground: Ground, chains: Chains
) -> None:
    url, income = ground.page(), Income(chains)
    payment = await sign(chains, (await ask(ground, url))["structuredContent"], "pay_over_mcp_0001")
    first, again = await ask(ground, url, payment), await ask(ground, url, payment)
    assert not first["isError"]
    assert again["content"] == first["content"]
    assert ground.fetching.visits("/" + url.split("/", 3)[3]) == 1
    assert income.taken() == BASIC


async def test_a_page_that_failed_costs_nothing(ground: Ground, chains: Chains) -> None:
    url, income = ground.page("<title>Gone</title>", status="404 Not Found"), Income(chains)
    payment = await sign(chains, (await ask(ground, url))["structuredContent"])
    result = await ask(ground, url, payment)
    assert "outcome error" in result["content"][0]["text"]
    assert income.taken() == 0


async def test_whoever_leaves_and_comes_back_pays_once(ground: Ground, chains: Chains) -> None:
    url, income = ground.page(pause=0.5), Income(chains)
    first = await sign(chains, (await ask(ground, url))["structuredContent"])
    asking = asyncio.create_task(ask(ground, url, first))
    async with asyncio.timeout(60):
        while not ground.fetching.visits("/" + url.split("/", 3)[3]):
            await asyncio.sleep(0.02)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        while "PAYMENT_IN_USE" in str(answer := await ask(ground, url, first)):
            await asyncio.sleep(0.05)
    assert not answer["isError"]
    assert income.taken() == BASIC


@pytest.mark.parametrize("payment", ["text", 3, [], {}, {"x402Version": 1}, {"x402Version": "2"}])
async def test_what_is_no_payment_is_refused_and_charges_nothing(
    ground: Ground, chains: Chains, payment: Any
) -> None:
    income = Income(chains)
    result = await ask(ground, ground.page(), payment)
    assert result["isError"]
    assert result["structuredContent"]["accepts"]
    assert income.taken() == 0


# Long work.


async def buy(ground: Ground, chains: Chains, tool: str, **arguments: Any) -> str:
    """What a tool says that is bought without a key."""
    asked = await ground.call(tool, {}, **arguments)
    assert asked["structuredContent"]["resource"]["url"] == f"mcp://tool/{tool}"
    payment = await sign(chains, asked["structuredContent"])
    return told(await pay(ground, payment, tool, arguments))


async def pay(ground: Ground, payment: Any, tool: str, arguments: Any, **meta: Any) -> Any:
    shown = {"x402/payment": payment, **meta}
    return await ground.ask("tools/call", {}, name=tool, arguments=arguments, _meta=shown)


def told(result: Any) -> str:
    assert not result["isError"], result
    text: str = result["content"][0]["text"]
    return text


def opening(text: str) -> dict[str, str]:
    """The arguments of `job`, as the result of a tool names them."""
    found = re.search(r"call job with id (\S+) and capability (cap_[\w-]+)", text)
    assert found, text
    return {"id": found[1], "capability": found[2]}


async def test_a_bought_batch_is_told_and_opened_again_and_what_failed_is_credit(
    ground: Ground, chains: Chains, capfd: pytest.CaptureFixture[str]
) -> None:
    income = Income(chains)
    pages = [ground.page(), ground.page(), ground.page("<title>Gone</title>", status="404 Not Found")]
    text = await buy(ground, chains, "batch", urls=pages, render="never")
    assert "The batch is done: 2 of 3 pages ok" in text
    assert income.taken() == 3 * BASIC
    opened = opening(text)
    first = await ground.text_for({}, "job", **opened, limit=1)
    assert "Title: Worth it" in first
    assert opening(first) == opened
    rest = await ground.text_for({}, "job", **opened, cursor=re.findall(r"cursor (\S+)\.", first)[0])
    assert "Title: Worth it" in rest
    assert "To read it again" in rest
    forged = await ground.call("job", {}, id=opened["id"], capability=opened["capability"][:-2] + "xx")
    assert (forged["isError"], "UNAUTHORIZED" in str(forged)) == (True, True)
    assert (await ground.call("job", {}, id=opened["id"]))["isError"]
    payments = ground.fetching.visit.service.payments
    assert payments is not None
    await payments.orders.reconcile()
    api = {"Authorization": f"Bearer {opened['capability']}"}
    order = await ground.client.get(f"/api/orders/{opened['capability'].split('_')[1]}", headers=api)
    assert (order.json()["pages"], order.json()["done"], order.json()["credit"]) == (3, 2, "$0.005")
    # Credit pays for the next call of the same wallet.
    assert "Worth it" in await buy(ground, chains, "fetch", url=ground.page(), render="never")
    assert income.taken() == 3 * BASIC
    assert opened["capability"] not in "".join(capfd.readouterr())


async def test_a_crawl_and_an_audit_are_bought(ground: Ground, chains: Chains) -> None:
    income, below = Income(chains), ground.page()
    start = ground.page(f"<title>Start</title><main><a href='{below}'>below</a>" + "<p>Words. " * 60)
    text = await buy(ground, chains, "crawl", url=start, maxPages=2)
    assert "The crawl is done: 2 pages" in text
    assert income.taken() == 2 * CRAWL
    assert "Worth it" in await ground.text_for({}, "job", **opening(text))
    audit = await buy(ground, chains, "audit", url=ground.page())
    assert "Score " in audit
    assert income.taken() == 2 * CRAWL + AUDIT
    assert "Score " in await ground.text_for({}, "job", **opening(audit))


async def test_bought_work_that_takes_long_reports_progress_and_is_asked_for_later(
    ground: Ground, chains: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    income = Income(chains)
    monkeypatch.setattr(following, "PATIENCE_SECONDS", 0.5)
    asked = {"urls": [ground.page(), ground.page(pause=3)], "render": "never"}
    terms = (await ground.call("batch", {}, **asked))["structuredContent"]
    meta = {"x402/payment": await sign(chains, terms), "progressToken": "p"}
    params = {"name": "batch", "arguments": asked, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await ground.post(body, {})
    events = [msgspec.json.decode(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[0]["method"] == "notifications/progress"
    assert "cap_" not in str(events[:-1])
    text = told(events[-1]["result"])
    assert "It goes on. Ask later: call job with id batch:" in text
    assert events[-1]["result"]["_meta"]["x402/payment-response"]["success"] is True
    canceled = await ground.text_for({}, "job", **opening(text), cancel=True)
    assert "The batch is " in canceled
    assert income.taken() == 2 * BASIC


async def test_a_payment_alone_opens_nothing(ground: Ground, chains: Chains) -> None:
    income, asked = Income(chains), {"urls": [ground.page()], "render": "never"}
    payment = await sign(chains, (await ground.call("batch", {}, **asked))["structuredContent"])
    which = opening(told(await pay(ground, payment, "batch", asked)))["id"]
    again = told(await pay(ground, payment, "batch", asked))
    assert f"This payment has bought {which} before" in again
    assert "cap_" not in again
    assert income.taken() == BASIC


async def test_a_lost_answer_is_given_again_for_the_same_idempotency_key(
    ground: Ground, chains: Chains
) -> None:
    income, once = Income(chains), {"Idempotency-Key": "once-over-mcp"}
    asked = {"urls": [ground.page()], "render": "never"}
    opened = []
    for _ in range(2):  # each time with a payment of its own, as x402 clients do
        payment = await sign(chains, (await ground.call("batch", {}, **asked))["structuredContent"])
        meta = {"x402/payment": payment}
        result = await ground.ask("tools/call", once, name="batch", arguments=asked, _meta=meta)
        opened.append(opening(told(result)))
    assert opened[0] == opened[1]
    assert income.taken() == BASIC


@pytest.mark.parametrize("capability", ["sk_live_x", "cap_a\r\nx: y", "cap_蜘蛛", "cap_"])
async def test_what_is_no_capability_is_refused(ground: Ground, capability: str) -> None:
    result = await ground.call("job", {}, id="batch:01JGGR2Z3W8Q4T6V9X0Y1B2C3D", capability=capability)
    assert "Wrong arguments" in result["content"][0]["text"]


async def test_a_key_pays_nothing(ground: Ground, chains: Chains) -> None:
    income = Income(chains)
    await ground.text("fetch", url=ground.page(), render="never")
    assert income.taken() == 0
