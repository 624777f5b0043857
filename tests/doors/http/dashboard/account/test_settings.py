"""The page about settings."""

from tests.doors.http.dashboard.account.forms import ESCAPED, HOSTILE
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import ADMIN_KEY, Visit, Visiting

from gossamer.settings.settings import declarations, variable


async def test_every_setting_is_shown_with_its_value_source_and_help(visit: Visit) -> None:
    page = (await (await sign_in(visit)).get("/app/settings")).text
    for name in declarations():
        assert f"<code>{variable(name)}</code>" in page
    assert "https://gossamer.example" in page
    assert "--public-url on the command line" in page
    assert "Largest request body, in bytes" in page


async def test_secrets_are_masked(visiting: Visiting) -> None:
    secret = "postgresql-password-of-tests"
    async with visiting(brave_api_key=secret) as visit:
        page = (await (await sign_in(visit)).get("/app/settings")).text
    assert ADMIN_KEY not in page
    assert secret not in page
    assert "********" in page


async def test_the_filter_narrows_the_list(visit: Visit) -> None:
    admin = await sign_in(visit)
    found = (await admin.get("/app/settings", params={"text": "IDEMPOTENCY", "only": ""})).text
    assert "GOSSAMER_IDEMPOTENCY_TTL_SECONDS" in found
    assert "GOSSAMER_PORT<" not in found
    assert 'value="IDEMPOTENCY"' in found
    given = (await admin.get("/app/settings", params={"text": "", "only": "set"})).text
    assert "GOSSAMER_PUBLIC_URL" in given
    assert "GOSSAMER_PORT<" not in given
    none = (await admin.get("/app/settings", params={"text": HOSTILE})).text
    assert "No setting fits this filter." in none
    assert "<script>alert" not in none
    assert f'value="{ESCAPED}"' in none
