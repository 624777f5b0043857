"""`gossamer users`, and the link that the first start prints in a terminal."""

import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from tests.doors.cli.commands import gossamer, own_environment
from tests.forks.forked import Forked

SERVE = ("gossamer", "serve", "--port", "0")
SECONDS = 60.0
PASSWORD = "several words in a row"


def test_users_from_add_to_disable(tmp_path: Path) -> None:
    added = json.loads(gossamer("users", "add", "a@example.com", "--json", folder=tmp_path).stdout)
    assert re.fullmatch(r"http://127\.0\.0\.1:8080/app/link\?token=[\w-]{43}", added["link"])
    assert "password_hash" not in added
    listed = gossamer("users", "list", folder=tmp_path).stdout
    assert re.search(r"a@example\.com +user .* invited", listed)
    again = gossamer("users", "password", "A@example.com", folder=tmp_path).stdout
    assert added["link"] not in again
    assert "/app/link?token=" in again
    gossamer("users", "disable", "a@example.com", folder=tmp_path)
    states = json.loads(gossamer("users", "list", "--json", folder=tmp_path).stdout)
    assert {user["email"]: bool(user["disabled_at"]) for user in states} == {
        "a@example.com": True,
        "admin@localhost": False,
    }
    gossamer("users", "enable", "a@example.com", folder=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("users", "add", "nobody"), "is not an email address"),
        (("users", "password", "none@example.com"), "no such person"),
        (("users", "disable", "admin@localhost"), "Nobody could administer"),
    ],
)
def test_a_mistake_is_one_clear_message(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = gossamer(*arguments, folder=tmp_path, check=False)
    assert done.returncode == 1
    assert words in done.stderr


def read_until(master: int, pattern: str) -> re.Match[str]:
    """What a terminal shows, up to these words."""
    shown, end = "", time.monotonic() + SECONDS
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 1.0)
        if ready:
            shown += os.read(master, 65536).decode()
        found = re.search(pattern, shown)
        if found:
            return found
    raise AssertionError(shown)


def test_the_first_start_in_a_terminal_prints_a_link_that_signs_in_once(tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    environment = own_environment(tmp_path, GOSSAMER_SERVE_WORKER="no")
    serving = Forked(*SERVE, stdout=terminal, stderr=subprocess.DEVNULL, cwd=tmp_path, env=environment)
    try:
        link = read_until(master, r"(http://127\.0\.0\.1:\d+)/app/link\?token=([\w-]{43})")
        with httpx.Client(base_url=link[1]) as client:
            assert "admin@localhost" in client.get(link[0]).text
            entered = client.post("/app/link", data={"token": link[2], "password": PASSWORD})
            assert (entered.status_code, entered.headers["location"]) == (303, "/app")
            assert client.get("/api/me").json()["role"] == "admin"
            assert client.get(link[0]).status_code == 404
    finally:
        serving.terminate()
        serving.wait(SECONDS)
        os.close(master)
        os.close(terminal)


def test_a_first_start_whose_output_is_kept_prints_no_link(tmp_path: Path) -> None:
    with Path(tmp_path, "out").open("w") as out:
        environment = own_environment(tmp_path, GOSSAMER_SERVE_WORKER="no")
        serving = Forked(*SERVE, stdout=out, stderr=subprocess.DEVNULL, cwd=tmp_path, env=environment)
        try:
            end = time.monotonic() + SECONDS
            while "Try it:" not in Path(tmp_path, "out").read_text() and time.monotonic() < end:
                time.sleep(0.05)
        finally:
            serving.terminate()
            serving.wait(SECONDS)
    shown = Path(tmp_path, "out").read_text()
    assert "Try it:" in shown
    assert "/app/link" not in shown
