"""The command line, as a person or a script would use it."""

import json
import re
from pathlib import Path

import httpx
import pytest
from tests.doors.cli.commands import gossamer
from tests.doors.processes import Process
from tests.doors.services import bearer
from tests.servers.postgres import PostgresServer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_keys_from_create_to_rotate(folder: Path) -> None:
    created = json.loads(
        gossamer("keys", "create", "--email", "a@example.com", "--json", folder=folder).stdout
    )
    assert created["key"].startswith("sk_live_")
    listed = gossamer("keys", "list", folder=folder).stdout
    assert created["id"] in listed
    assert created["key"] not in listed
    rotated = json.loads(gossamer("keys", "rotate", created["id"], "--json", folder=folder).stdout)
    gossamer("keys", "disable", rotated["id"], folder=folder)
    states = json.loads(gossamer("keys", "list", "--email", "a@example.com", "--json", folder=folder).stdout)
    assert all(key["disabled_at"] for key in states)
    assert "hash" not in states[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("keys", "create", "--email", "nobody"), "is not an email address"),
        (("keys", "create"), "--email"),
        (("keys", "create", "--email", "a@example.com", "--expires", "soon"), "2030-01-31T12:00:00Z"),
        (("keys", "create", "--email", "a@example.com", "--expires", "2020-01-01"), "in the past"),
        (("keys", "disable", "none"), "no API key with this id"),
        (("nonsense",), "No such command"),
        (("serve", "--port", "high"), "port"),
        (("worker", "--kinds", "audit,none"), "'none' is not one of audit,"),
    ],
)
def test_a_mistake_is_one_clear_message_and_a_code(
    folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = gossamer(*arguments, folder=folder, check=False)
    assert done.returncode != 0
    assert words in done.stderr


def test_a_wrong_setting_stops_with_a_line_that_names_it(folder: Path) -> None:
    done = gossamer("serve", folder=folder, check=False, GOSSAMER_PORT="eighty")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "GOSSAMER_PORT" in done.stderr


def test_a_database_that_is_away_is_one_line(folder: Path) -> None:
    done = gossamer(
        "keys", "list", folder=folder, check=False, GOSSAMER_DATABASE_URL="postgresql://127.0.0.1:9/none"
    )
    assert done.returncode == 1
    assert "The database is not answering" in done.stderr


def test_config_masks_secrets(folder: Path) -> None:
    shown = gossamer(
        "config",
        folder=folder,
        GOSSAMER_BOOTSTRAP_KEY="sk_live_very-secret-key-indeed-0000",
        GOSSAMER_DATABASE_URL="postgresql://me:hunter22@db.example/x",
        RATE_LIMIT_PER_HOUR="7",
    ).stdout
    assert "very-secret" not in shown
    assert "hunter22" not in shown
    assert "db.example" in shown
    assert "7/hour" in shown


def test_help_names_every_command(folder: Path) -> None:
    text = gossamer("--help", folder=folder).stdout
    assert all(name in text for name in ("serve", "keys", "config"))
    assert "--egress-allow" in gossamer("serve", "--help", folder=folder).stdout


def test_decision10_the_first_start_shows_an_admin_key_once(folder: Path) -> None:
    environment = {"GOSSAMER_DATA_DIR": str(folder), "GOSSAMER_PORT": "0"}
    first = Process("gossamer", ("serve",), environment)
    try:
        lines = [first.line()]
        while not lines[-1].startswith("Try it"):
            lines.append(first.line())
        secret = re.search(r"sk_live_[\w-]{32}", "\n".join(lines))
        assert secret
        base = re.search(r"http://127\.0\.0\.1:\d+", lines[0])
        assert base
        me = httpx.get(f"{base[0]}/api/me", headers=bearer(secret[0]))
        assert me.json()["role"] == "admin"
        assert httpx.get(f"{base[0]}/health").json()["status"] == "healthy"
        assert "type" in httpx.get(f"{base[0]}/nowhere").json()
        first.process.terminate()
        out, err = first.process.communicate(timeout=20)
        assert first.process.returncode == 0
        assert secret[0] not in err
    finally:
        first.kill()
    second = Process("gossamer", ("serve",), environment)
    try:
        assert "Gossamer" in second.line()
        second.process.terminate()
        out, _ = second.process.communicate(timeout=20)
        assert "sk_live_" not in out
    finally:
        second.kill()


def test_a_server_on_postgresql_says_that_it_has_no_key_yet(folder: Path, postgres: PostgresServer) -> None:
    environment = {
        "GOSSAMER_DATA_DIR": str(folder),
        "GOSSAMER_PORT": "0",
        "GOSSAMER_DATABASE_URL": postgres.url,
    }

    def welcome() -> str:
        server = Process("gossamer", ("serve",), environment)
        try:
            said = [server.line()]
            server.process.terminate()
            assert server.process.stdout is not None
            return "\n".join([*said, server.process.stdout.read()])
        finally:
            server.kill()

    told = re.search(r"There is no API key yet. Make one:  gossamer (.+)", welcome())
    assert told is not None
    made = gossamer(*told[1].split(), folder=folder, GOSSAMER_DATABASE_URL=postgres.url)
    assert "sk_live_" in made.stdout
    assert "no API key" not in welcome()


def test_a_first_key_that_was_given_is_not_printed(folder: Path) -> None:
    given = "sk_live_given-by-who-starts-it-00001"
    server = Process(
        "gossamer",
        ("serve",),
        {"GOSSAMER_DATA_DIR": str(folder), "GOSSAMER_PORT": "0", "GOSSAMER_BOOTSTRAP_KEY": given},
    )
    try:
        lines = [server.line(), server.line(), server.line()]
        assert "the one in GOSSAMER_BOOTSTRAP_KEY" in lines[2]
        base = re.search(r"http://127\.0\.0\.1:\d+", lines[0])
        assert base
        assert httpx.get(f"{base[0]}/api/me", headers=bearer(given)).json()["role"] == "admin"
        server.process.terminate()
        out, err = server.process.communicate(timeout=20)
        assert given not in "".join(lines) + out + err
    finally:
        server.kill()


def test_a_port_that_is_taken(folder: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = gossamer("serve", "--port", str(taken.getsockname()[1]), folder=folder, check=False)
    assert done.returncode == 1
    assert "in use" in done.stderr
    assert "--port" in done.stderr


def test_a_bootstrap_key_that_was_changed_is_told_in_one_line(folder: Path) -> None:
    def welcome(key: str) -> str:
        environment = {"GOSSAMER_DATA_DIR": str(folder), "GOSSAMER_PORT": "0", "GOSSAMER_BOOTSTRAP_KEY": key}
        server = Process("gossamer", ("serve",), environment)
        try:
            base = re.search(r"http://127\.0\.0\.1:\d+", server.line())
            assert base
            httpx.get(f"{base[0]}/health/live")
            server.process.terminate()
            assert server.process.stdout is not None
            return server.process.stdout.read()
        finally:
            server.kill()

    first, second = "sk_live_the-first-bootstrap-key-001", "sk_live_another-bootstrap-key-00002"
    told = "GOSSAMER_BOOTSTRAP_KEY is not a key here"
    assert told not in welcome(first)
    assert told not in welcome(first)
    said = welcome(second)
    assert sum(told in line for line in said.splitlines()) == 1
    assert second not in said
