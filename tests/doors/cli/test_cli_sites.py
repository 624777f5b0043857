"""`gossamer sites` on the data of this machine, from add to remove."""

import json
import re
from pathlib import Path

from click.testing import CliRunner
from tests.doors.cli.commands import gossamer

from gossamer.doors.cli.automation.sites import sites_group


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
    assert "/hooks/sites/" in run("hook", "make", added["siteId"])
    assert '"rules": []' in run("rules", "show", added["siteId"])
    assert "Nothing was compared yet" in run("comparison", added["siteId"])
    assert run("remove", added["siteId"]) == f"Removed {added['siteId']}.\n"
    assert "There is no site with this id." in run("show", added["siteId"], check=False)


def test_rules_are_tried_on_a_saved_page_without_a_server(tmp_path: Path) -> None:
    saved, rules = tmp_path / "saved.html", tmp_path / "rules.toml"
    text = "These words are the text of the page, and there are enough of them for anybody to read."
    saved.write_text(f"<title>A</title><nav>Home</nav><article><p>{text}</p><p class=ad>Buy</p></article>")
    words = ["rules", "try", str(rules), "--html", str(saved), "--url", "https://a.example/x?ref=1"]
    rules.write_text('[[rules]]\nkeep = ["article"]\ndrop = [".ad"]\nignoreParameters = ["ref"]\n')
    good = CliRunner().invoke(sites_group, [*words, "--markdown"])
    assert good.exit_code == 0, good.output
    assert text in good.output
    assert "Buy" not in good.output.split("At once")[1]
    assert "https://a.example/x\n" in good.output
    rules.write_text('[[rules]]\ndrop = [".gone"]\n')
    warned = CliRunner().invoke(sites_group, words)
    assert (warned.exit_code, "no_match" in warned.output) == (1, True)
    rules.write_text("[[rules]]\ndelay = 'x'\n")
    refused = CliRunner().invoke(sites_group, words)
    assert refused.exit_code == 1
    assert "rules[0].delay" in refused.output
