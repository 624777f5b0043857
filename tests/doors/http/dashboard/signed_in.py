"""A client whose person has signed in, for tests of the dashboard."""

from typing import Literal

import httpx
from tests.doors.services import Visit

from gossamer.flows.tenants.people import NewUser
from gossamer.state.tenants.activity import Actor

PASSWORD = "several words in a row"


async def sign_in(visit: Visit, role: Literal["user", "admin"] = "admin") -> httpx.AsyncClient:
    """Add a person of this role, and let them in by their link. Each call is another person and tenant."""
    number = len((await visit.service.people.list_page(limit=100)).users)
    new = NewUser(email=f"{role}-{number}@example.com", role=role)
    invited = await visit.service.people.add(new, Actor("test"))
    client = visit.client_from("127.0.0.1")
    answer = await client.post("/api/auth/link", json={"token": invited.token, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    # The cookie is bound to TLS and this client speaks plain HTTP, so it is sent by hand.
    client.cookies.clear()
    client.headers["Cookie"] = answer.headers["set-cookie"].partition(";")[0]
    client.headers["X-CSRF-Token"] = answer.json()["csrfToken"]
    return client
