"""Politeness as the hosts see it: judged by the servers' own record of every request."""

from collections.abc import Mapping
from pathlib import Path

from tests.crawl.judging import complaints
from tests.crawl.origin import Visit
from tests.crawl.stage import staged
from tests.crawl.web import Web
from tests.servers.daemon import free_port

DELAY = 0.3  # seconds


async def test_hosts_are_asked_one_request_at_a_time_and_not_too_soon_also_while_workers_are_killed(
    tmp_path: Path, on_servers: Mapping[str, str]
) -> None:
    """robots.txt, sitemaps, redirects and retries count as well as pages."""
    web = Web(hosts=12, pages=8, port=free_port(), delay=DELAY, latency=0.02)
    async with staged(tmp_path / "stage", web, on_servers, workers=4) as stage:
        await stage.begin(max_depth=4)
        stage.workers.fill()
        for stored in (15, 40):
            await stage.until_under_way(stored)
            await stage.workers.kill_one()
        await stage.until_done()
        assert stage.complaints(DELAY) == []
        account = await stage.account()
        assert account.wrong == []
        assert account.refetched <= stage.workers.in_hand > 0


def test_what_the_hosts_would_complain_of() -> None:
    def visit(began: float, ended: float, address: str = "a") -> Visit:
        return Visit(began, ended, address, "/", 200)

    first = visit(0.0, 0.1)
    assert complaints([first, visit(0.4, 0.5), visit(0.0, 0.1, "b")], 0.3) == []
    assert len(complaints([visit(0.3, 0.5), first], 0.3)) == 1
    assert len(complaints([visit(0.05, 0.2), first], 0.0)) == 1
    assert str(complaints([first, visit(0.2, 0.3)], 0.3)[0]) == "a: / came 0.100 s after the answer to /"
