"""People come from an OpenID Connect provider that the test starts: PKCE, a nonce, and a bound browser."""

from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from oidc_provider_mock import User, run_server_in_thread
from tests.doors.services import Visit, Visiting

from gossamer.flows.tenants.people import NewUser
from gossamer.state.tenants.activity import Actor

KNOWN, WELCOME, STRANGER, DOUBTED = (
    "known@a.example",
    "new@welcome.example",
    "x@b.example",
    "d@welcome.example",
)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    people = [
        User(sub=email, claims={"email": email, "email_verified": email != DOUBTED})
        for email in (KNOWN, WELCOME, STRANGER, DOUBTED)
    ]
    with run_server_in_thread(require_nonce=True, user_claims=people) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
async def visit(visiting: Visiting, issuer: str) -> AsyncIterator[Visit]:
    settings = {
        "oidc_issuer": issuer,
        "oidc_client_id": "gossamer",
        "oidc_client_secret": "secret-of-theirs",
        "oidc_name": "Acme",
        "oidc_domains": "welcome.example",
        "public_url": "http://test",
    }
    async with visiting(**settings) as opened:
        await opened.service.people.add(NewUser(email=KNOWN, role="admin"), Actor("test"))
        yield opened


async def depart(visit: Visit, next_path: str = "/app/keys") -> str:
    """The provider's address, as the browser is sent there."""
    left = await visit.client.get("/app/oidc/start", params={"next": next_path})
    assert left.status_code == 303, left.text
    return left.headers["location"]


async def agree(address: str, email: str) -> str:
    """Sign in at the provider; the way back."""
    async with httpx.AsyncClient() as browser:
        answer = await browser.post(address, data={"sub": email})
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def come_back(visit: Visit, way: str) -> httpx.Response:
    return await visit.client.get(way, headers={"Accept": "text/html"})


async def test_a_known_person_comes_in_and_lands_where_they_were_going(visit: Visit) -> None:
    entered = await come_back(visit, await agree(await depart(visit), KNOWN))
    assert entered.status_code == 200, entered.text
    assert 'url=/app/keys"' in entered.text
    me = (await visit.client.get("/api/me")).json()
    assert (me["prefix"], me["role"], me["via"]) == (KNOWN, "admin", "session")


async def test_the_sign_in_page_offers_the_provider(visit: Visit) -> None:
    assert "Sign in with Acme" in (await visit.client.get("/app/sign-in")).text


async def test_the_request_uses_pkce_a_state_and_a_nonce(visit: Visit) -> None:
    query = parse_qs(urlsplit(await depart(visit)).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == ["http://test/app/oidc/callback"]
    assert all(len(query[name][0]) >= 32 for name in ("state", "nonce", "code_challenge"))


async def test_people_of_a_welcome_domain_become_users(visit: Visit) -> None:
    await come_back(visit, await agree(await depart(visit), WELCOME))
    assert (await visit.client.get("/api/me")).json()["role"] == "user"
    assert (await visit.service.people.find(WELCOME)).email == WELCOME


@pytest.mark.parametrize("email", [STRANGER, DOUBTED])
async def test_strangers_and_unverified_emails_are_refused(visit: Visit, email: str) -> None:
    refused = await come_back(visit, await agree(await depart(visit), email))
    assert refused.status_code == 403
    assert (await visit.client.get("/api/me")).status_code == 401


async def test_a_disabled_person_is_refused(visit: Visit) -> None:
    await visit.service.people.add(NewUser(email="other@a.example", role="admin"), Actor("test"))
    user = await visit.service.people.find(KNOWN)
    await visit.service.people.set_disabled(user.id, Actor("test"), disabled=True)
    refused = await come_back(visit, await agree(await depart(visit), KNOWN))
    assert refused.status_code == 403


async def test_a_way_back_works_once(visit: Visit) -> None:
    way = await agree(await depart(visit), KNOWN)
    assert (await come_back(visit, way)).status_code == 200
    visit.client.cookies.clear()
    assert (await come_back(visit, way)).status_code == 403


async def test_a_way_back_of_another_browser_is_refused(visit: Visit) -> None:
    """Otherwise somebody could sign a victim in as somebody else."""
    way = await agree(await depart(visit), KNOWN)
    visit.client.cookies.clear()
    assert (await come_back(visit, way)).status_code == 403


async def test_a_made_up_code_is_refused(visit: Visit) -> None:
    state = parse_qs(urlsplit(await depart(visit)).query)["state"][0]
    refused = await visit.client.get("/app/oidc/callback", params={"code": "made-up", "state": state})
    assert refused.status_code == 403


async def test_a_denial_is_shown(visit: Visit) -> None:
    await depart(visit)
    refused = await visit.client.get("/app/oidc/callback", params={"error": "access_denied"})
    assert refused.status_code == 403
    assert "access_denied" in refused.text


async def test_nobody_is_sent_to_another_site(visit: Visit) -> None:
    entered = await come_back(visit, await agree(await depart(visit, "//evil.example/"), KNOWN))
    assert 'url=/app"' in entered.text


async def test_a_provider_that_is_away_is_told(visiting: Visiting) -> None:
    async with visiting(
        oidc_issuer="http://127.0.0.1:9", oidc_client_id="gossamer", oidc_client_secret="secret-of-theirs"
    ) as visit:
        answer = await visit.client.get("/app/oidc/start", headers={"Accept": "text/html"})
        assert answer.status_code == 503
        assert "sign-in provider" in answer.text
