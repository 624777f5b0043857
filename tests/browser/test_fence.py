"""The browser fence: a page that tries everything reaches nothing, with either layer alone.

"Public" is 127.0.0.1, where the page comes from. Every vector has a forbidden address of its own, 127.1.0.x,
with a canary on it for connections and datagrams. A vector counts because it is seen to arrive where nothing
is in its way: through the proxy, with every layer in force, once those addresses are allowed; or, where it is
kept from being sent at all, with both layers off. Layer one is off when such addresses bypass the proxy and
nothing keeps datagrams in; layer two, when there is no network namespace.
"""

import asyncio
import json
import re
from collections.abc import Collection
from ipaddress import ip_network
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.reach.browser.cdp import CdpConnection
from gossamer.reach.net.names import MIN_LIFETIME
from gossamer.reach.proxy.credentials import Allowance
from gossamer.reach.sandbox import netns
from gossamer.reach.sandbox.fence import ALL, Layers
from tests.browser.attack import PAGE, attacker, watched
from tests.browser.driver import PLENTY, SECONDS, Yard, chromium, now, tab, yard
from tests.browser.vectors import VECTORS, address

COUNTED = {vector.name for vector in VECTORS if not vector.unseen}
PROXIED = {vector.name for vector in VECTORS if vector.proxied and not vector.unseen}
NAMES = {address(number): vector.name for number, vector in enumerate(VECTORS)}
ALLOWED = ip_network("127.1.0.0/24")  # the addresses of all vectors


def open_gate(port: int) -> tuple[str, ...]:
    """The page's origin goes through the proxy, and everything else as it likes; but no name is asked for."""
    return (
        f"--proxy-server=http://127.0.0.1:{port}",
        "--proxy-bypass-list=<-loopback>;127.1.*",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.*",
    )


class Attack(NamedTuple):
    reached: set[str]  # the vectors that reached a canary
    refused: set[str]  # those that the proxy refused
    seconds: float  # that they were given


async def attack(place: Yard, layers: Layers, *, expected: Collection[str] = (), wait: float = 0.0) -> Attack:
    """Until all of the expected ones have arrived, and then for so many seconds."""
    visit = place.proxy.admit(PLENTY, now() + 3 * SECONDS)
    async with watched() as watch, attacker(watch) as port:
        async with chromium(place.proxy, layers) as browser, tab(browser, visit) as page:
            assert browser.layers.netns == layers.netns
            started = now()
            for path in (PAGE, "/"):
                assert await page.navigate(f"http://127.0.0.1:{port}{path}") == ""
                await page.until("document.title == 'tried'")
            assert await page.evaluate("isSecureContext")
            while not watch.seen() >= set(expected) and now() < started + SECONDS:
                await asyncio.sleep(0.05)
            await asyncio.sleep(wait)
            refused = {NAMES[each.host] for each in visit.refused if each.host in NAMES}
        return Attack(watch.seen(), refused, now() - started)


async def test_no_vector_reaches_anything_with_either_layer_alone() -> None:
    async with yard(ALLOWED) as place:  # the positive controls
        allowed = await attack(place, ALL, expected=PROXIED)
        assert allowed.reached >= PROXIED, f"not seen to arrive: {PROXIED - allowed.reached}"
        off = Layers(flags=False, netns=False, more=open_gate(place.proxy.port))
        free = await attack(place, off, expected=COUNTED - PROXIED)
        assert free.reached >= COUNTED - PROXIED, f"not seen to arrive: {COUNTED - PROXIED - free.reached}"

    wait = 2 * max(allowed.seconds, free.seconds)
    async with yard() as place:
        kept = await attack(place, ALL, wait=wait)
        assert (kept.reached, PROXIED - kept.refused) == (set(), set())
        kept = await attack(place, Layers(netns=False), wait=wait)
        assert (kept.reached, PROXIED - kept.refused) == (set(), set())
        kept = await attack(place, Layers(flags=False, more=open_gate(netns.PORT)), wait=wait)
        assert kept.reached == set()


def test_what_is_not_seen_to_arrive_is_not_counted() -> None:
    """The documentation says of every vector whether it counts, and if not, why."""
    text = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    counted, _, others = text.partition("Not counted")
    assert f"{len(COUNTED)} ways to make a browser" in counted
    assert [name for name in COUNTED if f"`{name}`" not in counted] == []
    rows = others.partition("###")[0].splitlines()
    for vector in VECTORS:
        if vector.unseen:
            (row,) = [row for row in rows if f"`{vector.name}`" in row]
            assert vector.unseen in row


async def test_names_and_navigations() -> None:
    """What a name resolves to is judged each time; what the browser itself is sent to is fenced as well."""
    async with yard() as place, watched() as watch, attacker(watch) as port, chromium(place.proxy) as browser:
        assert (browser.layers.netns, browser.layers.sandbox) == (True, True)
        inside = address(0)
        place.dns.say("inside.test", (inside,))
        place.dns.say("mixed.test", ("127.0.0.1", inside))
        place.dns.say("rebind.test", ("127.0.0.1",), (inside,), ("127.0.0.1",), (inside,))
        visit = place.proxy.admit(PLENTY, now() + 3 * SECONDS)
        async with tab(browser, visit) as page:
            home = f"http://127.0.0.1:{port}"
            assert await page.navigate(f"{home}/blank") == ""

            async def fetched(host: str, at: int) -> bool:
                code = f"fetch('http://{host}:{at}/', {{mode: 'no-cors', cache: 'no-store'}})"
                return bool(await page.evaluate(f"{code}.then(() => true, () => false)"))

            for host in ("inside.test", "mixed.test", "nowhere.test"):
                await fetched(host, watch.port)
                await page.navigate(f"http://{host}:{watch.port}/")
                await page.navigate(f"https://{host}:{watch.port}/")
            await page.navigate(f"{home}/blank")
            for _ in range(4):
                await fetched("rebind.test", port)
                await fetched("rebind.test", watch.port)
                place.clock.now += MIN_LIFETIME
            for target in (f"http://{inside}:{watch.port}/", f"http://[::ffff:{inside}]:{watch.port}/"):
                await page.navigate(target)
                await page.navigate(f"{home}/redirect?to={target}")
            await page.navigate(f"{home}/header/refresh-header")
            await page.until(f"location.host != '127.0.0.1:{port}'")
        assert watch.seen() == set()
        reasons = {(each.host, each.reason) for each in visit.refused}
        assert {
            ("inside.test", "dns_not_found"),
            ("mixed.test", "dns_not_found"),
            ("rebind.test", "dns_not_found"),
            ("nowhere.test", "dns_not_found"),
            (inside, "hostname_blocked"),
        } <= reasons


async def test_nothing_of_this_machine_can_be_seen(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    async with yard() as place, chromium(place.proxy) as browser:
        assert browser.layers.bubblewrap
        async with tab(browser, place.proxy.admit(PLENTY, now() + SECONDS)) as page:
            for path in (str(secret), "/etc/passwd", "/etc/resolv.conf", "/proc/1/environ", "/root", "/home"):
                failure = await page.navigate(f"file://{path}")
                await page.until("document.readyState == 'complete'")
                text = await page.evaluate("document.documentElement.innerText") or ""
                assert failure or "GOSSAMER" not in text
                assert failure or path.startswith("/proc/"), (path, text)
            assert "the secret" not in await page.evaluate("document.documentElement.innerText")
        # Of network devices, only its own loopback.
        devices = Path(f"/proc/{browser.pid}/net/dev").read_text().splitlines()[2:]
        assert [line.split(":")[0].strip() for line in devices] == ["lo"]


RESOLVING = ("DNS_TRANSACTION", "HOST_RESOLVER_SYSTEM_TASK")
SENDING = "UDP_BYTES_SENT"


async def test_with_the_first_layer_alone_no_name_is_asked_for_and_no_datagram_sent(tmp_path: Path) -> None:
    """The browser's own network log says so. Without that layer, and in a network namespace that lets nothing
    out, the same log shows names and datagrams."""
    tempted = (
        f"--proxy-server=http://127.0.0.1:{netns.PORT}",
        "--proxy-bypass-list=<-loopback>;127.1.*;*.test",
    )
    async with yard() as place:
        happened = await recorded(
            place, Layers(flags=False, bubblewrap=False, more=tempted), tmp_path / "control"
        )
        assert happened & set(RESOLVING)
        assert SENDING in happened
        assert not place.dns.asked

        happened = await recorded(place, Layers(netns=False, bubblewrap=False), tmp_path / "fenced")
        assert happened
        assert not happened & {*RESOLVING, SENDING}
        asked = {host for host, _ in place.dns.asked}
        assert "last.test" in asked  # by the proxy, and by nobody else
        assert not {"hinted.test", "stun.test"} & asked


async def recorded(place: Yard, layers: Layers, record: Path) -> set[str]:
    """The kinds of events in the log of a browser that is attacked, and tempted to ask for names."""
    layers = replace(layers, more=(*layers.more, f"--log-net-log={record}"))
    visit = place.proxy.admit(PLENTY, now() + 2 * SECONDS)
    async with watched() as watch, attacker(watch) as port, chromium(place.proxy, layers) as browser:
        connection = CdpConnection(browser)
        async with tab(browser, visit, connection) as page:
            await page.navigate(f"http://127.0.0.1:{port}/")
            await page.until("document.title == 'tried'")
            hints = '<link rel="dns-prefetch" href="//hinted.test">'
            await page.evaluate(f"document.head.innerHTML += '{hints}'; peer('stun:stun.test:3478')")
            await page.evaluate("fetch('http://last.test/', {mode: 'no-cors'}).catch(() => 0)")
        await connection.browser.tell("Browser.close", now() + SECONDS)
        await connection.wait_ended()
        await connection.close()
    kinds, events = logged(record)
    return {kind for kind, number in kinds.items() if number in events}


def logged(record: Path) -> tuple[dict[str, int], set[int]]:
    """The numbers of all kinds of events, and of those that happened; its end may be missing."""
    constants, _, *lines = record.read_text().splitlines()
    kinds: dict[str, int] = json.loads(constants.rstrip(",") + "}")["constants"]["logEventTypes"]
    found = (re.search(r'"type":([0-9]+)\}[],]*$', line) for line in lines)
    return kinds, {int(match[1]) for match in found if match}


async def test_every_connection_names_its_visit() -> None:
    """Pages, frames, workers of all kinds and sockets: what one visit does is not on the other's account."""
    async with yard() as place, watched() as watch, attacker(watch) as port, chromium(place.proxy) as browser:
        connection = CdpConnection(browser)
        one, two = (place.proxy.admit(PLENTY, now() + 2 * SECONDS) for _ in range(2))
        async with tab(browser, one, connection) as first, tab(browser, two, connection) as second:
            await second.navigate(f"http://127.0.0.1:{port}/blank")
            await second.evaluate("fetch('/blank').then(answer => answer.ok)")
            before = two.requests
            for path in (PAGE, "/"):
                await first.navigate(f"http://127.0.0.1:{port}{path}")
                # The next page would end what this one still tries.
                await first.until("document.title == 'tried'")
            async with asyncio.timeout(SECONDS):
                while not {NAMES[each.host] for each in one.refused if each.host in NAMES} >= PROXIED:
                    await asyncio.sleep(0.05)
            assert two.requests <= before + 1  # an icon, if anything
            assert two.refusals == 0
            # The end of one is not the end of the other.
            one.close()
            code = "fetch('/blank', {signal: AbortSignal.timeout(3000)})"
            fetched = f"{code}.then(answer => answer.ok, () => false)"
            assert not await first.evaluate(fetched)
            assert await second.evaluate(fetched)
            assert before < two.requests <= before + 2
        # Without credentials, with somebody else's, or with those of a visit that has ended: nothing.
        async with tab(browser, one, connection) as late:
            await late.navigate(f"http://127.0.0.1:{port}/")
            assert await late.evaluate("document.title") != "tried"
        poor = place.proxy.admit(Allowance(max_bytes=1_000_000, max_requests=3), now() + SECONDS)
        async with tab(browser, poor, connection) as page:
            await page.navigate(f"http://127.0.0.1:{port}/")
            await page.until("document.title == 'tried'")
            async with asyncio.timeout(SECONDS):
                while not poor.refusals:
                    await asyncio.sleep(0.05)
        assert (poor.requests, poor.exceeded) == (3, "too_many_requests")
        await connection.close()
    assert watch.seen() == set()
