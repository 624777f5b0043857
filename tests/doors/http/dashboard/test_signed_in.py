from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit


async def test_a_person_who_signed_in_has_a_session_of_their_role(visit: Visit) -> None:
    admin, user = await sign_in(visit), await sign_in(visit, "user")

    assert (await admin.get("/api/me")).json()["role"] == "admin"
    assert (await user.get("/api/me")).json()["role"] == "user"
    assert (await user.get("/api/me")).json()["via"] == "session"
