"""`docs/roles.md` has the table that is made from the routes."""

from tests.doors.http.docs.roles import DOCUMENT, document


async def test_the_page_about_roles_is_made_from_the_routes() -> None:
    """If it is not: .venv/bin/python -m tests.doors.http.docs.roles"""
    assert DOCUMENT.read_text("utf-8") == await document()
