"""The browser fence: a page that tries everything reaches nothing, with either layer alone.

"Public" is 127.0.0.1, where the page comes from. Every vector has a forbidden address of its own, 127.1.0.x,
with a canary on it for connections and datagrams. Where both layers are off the canaries sing: that shows
that they can, and that the page does what it says. Layer one is off when such addresses bypass the proxy and
nothing keeps datagrams in; layer two, when there is no wall.
"""

import asyncio
import json
import re
from pathlib import Path

from gossamer.reach import wall
from gossamer.reach.cdp import Connection
from gossamer.reach.chromium import ALL, Layers
from gossamer.reach.names import SHORTEST
from gossamer.reach.proxy import Allowance
from tests.browser.attack import attacker, watched
from tests.browser.driver import PLENTY, SECONDS, Yard, chromium, now, tab, yard
from tests.browser.vectors import VECTORS, address

CERTAIN = {vector.name for vector in VECTORS if vector.certain}
PROXIED = {vector.name for vector in VECTORS if vector.certain and vector.proxied}
NAMES = {address(number): vector.name for number, vector in enumerate(VECTORS)}


def open_gate(port: int) -> tuple[str, ...]:
    """The page's origin goes through the proxy, and everything else as it likes; but no name is asked for."""
    return (
        f"--proxy-server=http://127.0.0.1:{port}",
        "--proxy-bypass-list=<-loopback>;127.1.*",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.*",
    )


async def attack(place: Yard, layers: Layers, wait: float | None) -> tuple[set[str], set[str], float]:
    """The vectors that reached a canary, those that the proxy refused, and the seconds given to them.

    Without `wait`, until all of the certain ones have arrived.
    """
    visit = place.proxy.admit(PLENTY, now() + 3 * SECONDS)
    async with watched() as watch, attacker(watch) as port:
        async with chromium(place.proxy, layers) as browser, tab(browser, visit) as page:
            assert browser.walled == layers.wall
            started = now()
            assert await page.navigate(f"http://127.0.0.1:{port}/") == ""
            await page.until("document.title == 'tried'")
            assert await page.evaluate("isSecureContext")
            while wait is None and not watch.seen() >= CERTAIN and now() < started + SECONDS:
                await asyncio.sleep(0.05)
            await asyncio.sleep(wait or 0)
            refused = {NAMES[each.host] for each in visit.refused if each.host in NAMES}
        return watch.seen(), refused, now() - started


async def test_no_vector_reaches_anything_with_either_layer_alone() -> None:
    async with yard() as place:
        off = Layers(flags=False, wall=False, more=open_gate(place.proxy.port))
        seen, _, seconds = await attack(place, off, None)
        assert seen >= CERTAIN, f"not tried: {CERTAIN - seen}"

        wait = 2 * seconds
        seen, refused, _ = await attack(place, ALL, wait)
        assert (seen, PROXIED - refused) == (set(), set())
        seen, refused, _ = await attack(place, Layers(wall=False), wait)
        assert (seen, PROXIED - refused) == (set(), set())
        seen, _, _ = await attack(place, Layers(flags=False, more=open_gate(wall.PORT)), wait)
        assert seen == set()


async def test_names_and_navigations() -> None:
    """What a name resolves to is judged each time; what the browser itself is sent to is fenced as well."""
    async with yard() as place, watched() as watch, attacker(watch) as port, chromium(place.proxy) as browser:
        assert (browser.walled, browser.sandboxed) == (True, True)
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
                place.clock.now += SHORTEST
            for target in (f"http://{inside}:{watch.port}/", f"http://[::ffff:{inside}]:{watch.port}/"):
                await page.navigate(target)
                await page.navigate(f"{home}/redirect?to={target}")
            await page.navigate(f"{home}/header/refresh-header")
            await page.until(f"location.host != '127.0.0.1:{port}'")
        assert watch.seen() == set()
        reasons = {(each.host, each.reason) for each in visit.refused}
        assert {
            ("inside.test", "hostname_blocked"),
            ("mixed.test", "hostname_blocked"),
            ("rebind.test", "hostname_blocked"),
            ("nowhere.test", "dns_not_found"),
            (inside, "hostname_blocked"),
        } <= reasons


async def test_nothing_of_this_machine_can_be_seen(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    async with yard() as place, chromium(place.proxy) as browser:
        assert browser.jailed
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


async def test_with_the_first_layer_alone_no_name_is_asked_for_and_no_datagram_sent(tmp_path: Path) -> None:
    """Told by the browser itself, in the log that it keeps of its network."""
    record = tmp_path / "network.json"
    layers = Layers(wall=False, jail=False, more=(f"--log-net-log={record}",))
    async with yard() as place, watched() as watch, attacker(watch) as port:
        visit = place.proxy.admit(PLENTY, now() + 2 * SECONDS)
        async with chromium(place.proxy, layers) as browser:
            connection = Connection(browser)
            async with tab(browser, visit, connection) as page:
                await page.navigate(f"http://127.0.0.1:{port}/")
                await page.until("document.title == 'tried'")
                hints = '<link rel="dns-prefetch" href="//hinted.test">'
                await page.evaluate(f"document.head.innerHTML += '{hints}'; peer('stun:stun.test:3478')")
                await page.evaluate("fetch('http://last.test/', {mode: 'no-cors'}).catch(() => 0)")
            await connection.browser.tell("Browser.close", now() + SECONDS)
            await connection.ended()
            await connection.close()
        assert "browser_not_walled" in place.log.getvalue()
    kinds, events = logged(record)
    assert "last.test" in {host for host, _ in place.dns.asked}  # by the proxy, and by nobody else
    assert not {"hinted.test", "stun.test"} & {host for host, _ in place.dns.asked}
    assert events  # of any kind
    for forbidden in ("DNS_TRANSACTION", "HOST_RESOLVER_SYSTEM_TASK", "UDP_BYTES_SENT"):
        assert kinds[forbidden] not in events, forbidden


def logged(record: Path) -> tuple[dict[str, int], set[int]]:
    """The numbers of all kinds of events, and of those that happened; its end may be missing."""
    constants, _, *lines = record.read_text().splitlines()
    kinds: dict[str, int] = json.loads(constants.rstrip(",") + "}")["constants"]["logEventTypes"]
    found = (re.search(r'"type":([0-9]+)\}[],]*$', line) for line in lines)
    return kinds, {int(match[1]) for match in found if match}


async def test_every_connection_names_its_visit() -> None:
    """Pages, frames, workers of all kinds and sockets: what one visit does is not on the other's account."""
    async with yard() as place, watched() as watch, attacker(watch) as port, chromium(place.proxy) as browser:
        connection = Connection(browser)
        one, two = (place.proxy.admit(PLENTY, now() + 2 * SECONDS) for _ in range(2))
        async with tab(browser, one, connection) as first, tab(browser, two, connection) as second:
            await second.navigate(f"http://127.0.0.1:{port}/blank")
            await second.evaluate("fetch('/blank').then(answer => answer.ok)")
            before = two.requests
            await first.navigate(f"http://127.0.0.1:{port}/")
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
