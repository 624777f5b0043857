"""Sends a form as a browser does, and goes where the answer leads."""

from collections.abc import Mapping

import httpx

HOSTILE = """<script>alert(1)</script>"'"""
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;"


async def send(client: httpx.AsyncClient, path: str, data: Mapping[str, str] | None = None) -> httpx.Response:
    """The page that somebody sees after sending a form. httpx itself would lose the cookie on the way."""
    answer = await client.post(path, data={"csrf": client.headers["X-CSRF-Token"], **(data or {})})
    return await client.get(answer.headers["location"]) if answer.status_code == 303 else answer
