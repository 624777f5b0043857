"""`gossamer monitors` on the data of this machine, from add to remove."""

import json
import re
from pathlib import Path

from tests.doors.cli.commands import gossamer

PAGE = "http://127.0.0.1:9/page"


def run(folder: Path, *arguments: str, check: bool = True) -> str:
    done = gossamer(
        "monitors",
        *arguments,
        folder=folder,
        check=check,
        GOSSAMER_EGRESS_ALLOW="127.0.0.0/8",
        GOSSAMER_EGRESS_PORTS="*",
    )
    return done.stdout if check else done.stderr


def test_monitors_from_add_to_remove(tmp_path: Path) -> None:
    rules = ("--selector", "main", "--appear", "sold out", "--price", ".price", "--below", "20", "--status")
    added = json.loads(run(tmp_path, "add", PAGE, "--every", "6h", "--name", "pack", *rules, "--json"))
    assert [rule["kind"] for rule in added["rules"]] == ["selector", "keywords", "number", "status"]
    assert added["timing"]["every"] == "6h"
    id_ = added["monitorId"]
    assert re.search(rf"{id_} +new +0 .* {PAGE} +pack", run(tmp_path, "list"))
    assert added["jobId"] in run(tmp_path, "check", id_)  # the first look has not been taken yet
    assert json.loads(run(tmp_path, "snooze", id_, "2h", "--json"))["snoozedUntil"]
    assert json.loads(run(tmp_path, "mute", id_, "--json"))["muted"]
    assert "paused" in run(tmp_path, "pause", id_)
    assert json.loads(run(tmp_path, "resume", id_, "--json"))["nextCheckAt"]
    assert PAGE in run(tmp_path, "show", id_)
    assert "no change yet" in run(tmp_path, "diff", id_, check=False)
    assert run(tmp_path, "remove", id_) == f"Removed {id_}.\n"
    assert "There is no monitor" in run(tmp_path, "show", id_, check=False)


def test_lists_searches_and_two_files_are_compared(tmp_path: Path) -> None:
    many = json.loads(run(tmp_path, "add", PAGE, f"{PAGE}/2", "--json"))
    assert many["watch"] == {"kind": "list", "urls": [PAGE, f"{PAGE}/2"]}
    found = json.loads(run(tmp_path, "add", "--search", "silk", "--cron", "@daily", "--json"))
    assert (found["watch"]["kind"], found["timing"]["cron"]) == ("search", "@daily")
    assert "Give URLs" in run(tmp_path, "add", PAGE, "--search", "silk", check=False)
    assert "--price" in run(tmp_path, "add", PAGE, "--below", "3", check=False)
    (tmp_path / "before.txt").write_text("Price: 22\n12 views")
    (tmp_path / "after.txt").write_text("Price: 19\n31 views")
    tried = run(tmp_path, "try", str(tmp_path / "before.txt"), str(tmp_path / "after.txt"))
    assert tried.startswith("It changed.")
    assert "ignored as counter: 1x" in tried
    assert "no JSON list" in run(tmp_path, "try", "a", "b", "--rules", "{", check=False)
