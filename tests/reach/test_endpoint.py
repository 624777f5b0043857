"""Endpoints that whoever runs the server has set."""

import pytest
from tests.site.server import Site

from gossamer.problems import Unavailable
from gossamer.reach.net.dial import client_context
from gossamer.reach.services.endpoint import ServiceEndpoint


async def test_a_certificate_must_be_valid(site: Site) -> None:
    trusting = client_context(authorities=str(site.authority))
    known = ServiceEndpoint("it", site.secure_url(""), headers={}, seconds=10, context=trusting)
    assert (await known.get("/ok", {"a": "é &\ud800"})).status == 200
    await known.close()
    unknown = ServiceEndpoint("it", site.secure_url(""), headers={}, seconds=10)
    with pytest.raises(Unavailable, match="no valid certificate"):
        await unknown.get("/ok", {})
    await unknown.close()


async def test_paths_are_joined(site: Site) -> None:
    endpoint = ServiceEndpoint("it", site.url("/ok"), headers={"x-secret": "s"}, seconds=10)
    await endpoint.get("/below", {"q": "a b"})
    assert site.seen("/ok/below?q=a+b")
    await endpoint.close()


async def test_a_name_that_the_fence_refuses_may_be_an_operators(site: Site) -> None:
    endpoint = ServiceEndpoint("it", site.url("").replace("127.0.0.1", "localhost"), headers={}, seconds=10)
    assert (await endpoint.get("/ok", {})).status == 200
    await endpoint.close()
