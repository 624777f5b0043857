"""`gossamer doctor`: lines for people, JSON for programs, and an exit code."""

import json
from pathlib import Path
from subprocess import CompletedProcess

from tests.doors.cli.commands import gossamer


def doctor(*arguments: str, folder: Path) -> CompletedProcess[str]:
    """Without a browser, and with a name server that does not answer."""
    return gossamer(
        "doctor",
        *arguments,
        folder=folder,
        check=False,
        GOSSAMER_CHROMIUM="/nowhere/chromium",
        GOSSAMER_DNS_SERVERS="127.0.0.1:9",
    )


def test_before_the_first_start(tmp_path: Path) -> None:
    done = doctor(folder=tmp_path)
    assert done.returncode == 1  # no name resolves
    assert "could be better  database: there is no data yet\n" in done.stdout
    assert "broken           names: example.com does not resolve" in done.stdout
    assert not (tmp_path / "gossamer.db").exists()


def test_json_and_a_good_exit_code(tmp_path: Path) -> None:
    gossamer("migrate", folder=tmp_path)
    done = doctor("--json", folder=tmp_path)
    found = {one["subject"]: one["condition"] for one in json.loads(done.stdout)["diagnoses"]}
    assert (found["database"], found["schema"], found["names"]) == ("ok", "ok", "broken")
    assert found["browser"] == "could_be_better"
