"""The settings in force over HTTP."""

from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import ADMIN_KEY, AS_ADMIN, Visiting, bearer

from gossamer.settings import settings
from gossamer.state.tenants.tenants import Role


async def test_every_setting_is_shown_with_its_source_and_no_secret(visiting: Visiting) -> None:
    async with visiting(limit_user="7/60") as visit:
        answer = await visit.client.get("/api/admin/settings", headers=AS_ADMIN)
        assert answer.status_code == 200
        shown = {one["name"]: one for one in answer.json()["settings"]}
        assert list(shown) == [settings.variable(name) for name in settings.declarations()]
        chosen = shown["GOSSAMER_LIMIT_USER"]
        assert (chosen["value"], chosen["source"]) == ("7/minute", "--limit-user on the command line")
        assert chosen["help"]
        assert shown["GOSSAMER_LIMIT_ADMIN"]["source"] == "default"
        assert shown["GOSSAMER_BOOTSTRAP_KEY"]["value"] == settings.MASK
        assert ADMIN_KEY not in answer.text
        user = bearer(await visit.key(Role.USER))
        assert_problem(await visit.client.get("/api/admin/settings", headers=user), "FORBIDDEN")
