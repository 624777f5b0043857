"""`gossamer schedules` on the data of this machine, from add to remove."""

import json
import re
from pathlib import Path

from tests.doors.cli.commands import gossamer


def test_schedules_from_add_to_remove(tmp_path: Path) -> None:
    def run(*arguments: str, check: bool = True) -> str:
        done = gossamer(
            "schedules",
            *arguments,
            folder=tmp_path,
            check=check,
            GOSSAMER_EGRESS_ALLOW="127.0.0.0/8",
            GOSSAMER_EGRESS_PORTS="*",
        )
        return done.stdout if check else done.stderr

    options = ("--options", '{"maxPages": 3}', "--name", "news", "--json")
    added = json.loads(run("add", "crawl", "http://127.0.0.1:9/", "--every", "6h", *options))
    assert added["task"] == {"kind": "crawl", "seeds": ["http://127.0.0.1:9/"], "maxPages": 3}
    started = run("run", added["scheduleId"])
    assert re.fullmatch(r"Started \w{26}\.\n", started)
    shown = run("show", added["scheduleId"])
    assert re.search(r"State: +running", shown)
    assert re.search(r"started +request", shown)
    assert re.search(rf"{added['scheduleId']}  crawl  every 6h +running .* news", run("list"))
    assert "paused" in run("pause", added["scheduleId"])
    assert run("remove", added["scheduleId"]) == f"Removed {added['scheduleId']}.\n"
    assert "There is no schedule with this id." in run("show", added["scheduleId"], check=False)
    assert run("preview", "--cron", "@daily", "--count", "2").count("T00:00:00+00:00") == 2
