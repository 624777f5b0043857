"""A visit through a proxy of the operator's own: everything of the page goes there, and the fence stays."""

import io
from ipaddress import ip_network

from gossamer.observe.logs import Log
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.reach.net.upstreams import Upstreams
from gossamer.reach.proxy.proxy import Proxy
from gossamer.settings.upstream import upstream
from tests.browser.pools import open_pool
from tests.site.server import Site
from tests.site.upstream import upstream_proxy


async def test_a_visit_goes_through_the_proxy_of_its_tenant(site: Site) -> None:
    log = Log(io.StringIO())
    async with upstream_proxy("socks5") as mine:
        upstreams = Upstreams([upstream(mine.url("?tenant=ten_1"))], log)
        allow = (ip_network("127.0.0.1"),)
        proxy = Proxy(Dialer(Names(["127.0.0.1:9"]), allow=allow, ports="*", upstreams=upstreams), log)
        await proxy.open()
        try:
            async with open_pool(proxy=proxy, places=1) as pool:
                others = await pool.visit(site.url("/page/fetched"), caller="ten_2")
                assert others.page.status == 200
                assert mine.asked == []
                result = await pool.visit(site.url("/page/fetched"), caller="ten_1")
                assert result.page.status == 200
                assert {host for host, _ in mine.asked} == {"127.0.0.1"}
        finally:
            await proxy.close()
