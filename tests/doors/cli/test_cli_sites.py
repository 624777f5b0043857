"""`gossamer sites` on the data of this machine, from add to remove."""

import json
import re
from pathlib import Path

from tests.doors.cli.commands import gossamer


def test_sites_from_add_to_remove(tmp_path: Path) -> None:
    def run(*arguments: str, check: bool = True) -> str:
        done = gossamer(
            "sites",
            *arguments,
            folder=tmp_path,
            check=check,
            GOSSAMER_EGRESS_ALLOW="127.0.0.0/8",
            GOSSAMER_EGRESS_PORTS="*",
        )
        return done.stdout if check else done.stderr

    settings = ("--settings", '{"maxAge": 60, "excludedPaths": ["/cart"]}', "--name", "shop", "--json")
    added = json.loads(run("add", "http://127.0.0.1:9", *settings))
    assert (added["state"], added["proof"], added["settings"]["maxAge"]) == ("proven", "admin", 60)
    assert re.search(rf"{added['siteId']}  http://127.0.0.1:9 +proven +shop", run("list"))
    assert '"maxAge":120' in run("change", added["siteId"], "--settings", '{"maxAge": 120}')
    assert "ROBOT" in run("bots", added["siteId"])
    assert run("remove", added["siteId"]) == f"Removed {added['siteId']}.\n"
    assert "There is no site with this id." in run("show", added["siteId"], check=False)
