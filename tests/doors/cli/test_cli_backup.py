"""`gossamer backup`, `restore` and `move`, as an operator types them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.doors.cli.commands import gossamer

KEY = "correct horse battery staple"


@pytest.fixture
def folder(tmp_path: Path, sqlite: str) -> Path:
    """Where an installation with a key is."""
    gossamer("keys", "create", "--email", "a@example.com", folder=tmp_path)
    return tmp_path


def keys(folder: Path, **environment: Any) -> list[str]:
    listed = gossamer("keys", "list", "--json", folder=folder, **environment)
    return sorted(key["email"] for key in json.loads(listed.stdout))


def test_from_a_backup_to_a_server_that_answers(folder: Path, tmp_path: Path) -> None:
    key: Any = {"GOSSAMER_BACKUP_KEY": KEY, "GOSSAMER_BACKUP_URL": f"file://{folder}/backups"}
    made = gossamer("backup", "--keep-daily", "7", folder=folder, **key)
    assert "read back and compared" in made.stdout
    (listed,) = json.loads(gossamer("backup", "list", "--json", folder=folder, **key).stdout)
    assert listed["id"] in made.stdout
    assert "is whole" in gossamer("backup", "verify", "backups", folder=folder, **key).stdout
    drill = json.loads(gossamer("backup", "drill", "--json", folder=folder, **key).stdout)
    assert {check["name"]: check["ok"] for check in drill["checks"]} == {
        "rows": True,
        "content": True,
        "health": True,
        "dashboard": True,
    }
    assert 0 < drill["restoreSeconds"] <= drill["recoveryTimeSeconds"]
    assert drill["recoveryPointSeconds"] > 0
    new: Any = {**key, "GOSSAMER_DATA_DIR": str(tmp_path / "new")}
    restored = gossamer("restore", "--backup", listed["id"].upper(), folder=folder, **new)
    assert "Everybody signs in again" in restored.stdout
    assert keys(folder, **new) == keys(folder)
    refused = gossamer("restore", folder=folder, check=False, **new)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "The database is not empty" in refused.stderr


def test_what_is_wrong_is_one_sentence(folder: Path) -> None:
    nowhere = gossamer("backup", folder=folder, check=False)
    assert nowhere.returncode == 2
    assert "set GOSSAMER_BACKUP_URL" in nowhere.stderr
    for command in (["restore", "./nothing"], ["backup", "list", "./nothing"]):
        failed = gossamer(*command, folder=folder, check=False)
        assert (failed.returncode, failed.stderr) == (1, f"Error: There is no folder {folder}/nothing.\n")
    gossamer("backup", "backups", folder=folder)
    wrong = gossamer("restore", "backups", folder=folder, check=False, GOSSAMER_BACKUP_KEY=KEY)
    assert "are not encrypted" in wrong.stderr


def test_a_move_and_back(folder: Path, tmp_path: Path) -> None:
    target, blobs = f"sqlite:///{tmp_path}/moved/moved.db", f"file://{tmp_path}/moved/blobs"
    moved = gossamer("move", "--to-database", target, "--to-blobs", blobs, "--json", folder=folder)
    assert json.loads(moved.stdout)["rows"] > 3
    there = {"GOSSAMER_DATABASE_URL": target, "GOSSAMER_BLOBS_URL": blobs}
    assert keys(folder, **there) == keys(folder)
    again = gossamer("move", "--to-database", target, folder=folder, check=False)
    assert "The target database is not empty" in again.stderr
    wrong = gossamer("move", "--to-database", "mysql://here", folder=folder, check=False)
    assert wrong.returncode == 2
