"""The files in `deploy` are those that the command writes; Prometheus accepts them, and they fire."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gossamer.flows.alerts import grafana
from gossamer.flows.alerts.grafana import write_dashboard
from gossamer.flows.alerts.prometheus import alert_name, write_rules
from gossamer.flows.alerts.rules import RULES, Thresholds
from gossamer.observe.metrics import Metrics

ROOT = Path(__file__).parents[3]
RULES_FILE = ROOT / "deploy" / "prometheus" / "alerts.yml"
DOCUMENT = ROOT / "docs" / "operations" / "monitoring.md"


def promtool(*arguments: str, folder: Path) -> str:
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_files_are_those_of_the_table() -> None:
    assert RULES_FILE.read_text() == write_rules(Thresholds())
    assert (ROOT / "deploy" / "grafana" / "gossamer.json").read_text() == write_dashboard()


def test_prometheus_accepts_the_rules_and_they_fire(tmp_path: Path) -> None:
    shutil.copy(RULES_FILE, tmp_path)
    shutil.copy(Path(__file__).with_name("rules_test.yml"), tmp_path)
    assert "SUCCESS" in promtool("check", "rules", "alerts.yml", folder=tmp_path)
    promtool("test", "rules", "rules_test.yml", folder=tmp_path)
    tested = (tmp_path / "rules_test.yml").read_text()
    assert [rule.name for rule in RULES if rule.name != "backup_old" and alert_name(rule) not in tested] == []


def test_a_backup_is_expected_only_if_somebody_wants_one(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(write_rules(Thresholds(backup_seconds=86_400)))
    assert "max(gossamer_backup_age_seconds) > 86400" in (tmp_path / "rules.yml").read_text()
    promtool("check", "rules", "rules.yml", folder=tmp_path)
    assert "backup" not in RULES_FILE.read_text()


@pytest.mark.parametrize("written", ["rules", "dashboard"])
def test_every_metric_that_is_named_exists(written: str) -> None:
    families = Metrics("0").exposition.collect()
    known = {family.name for family in families} | {f"{family.name}_info" for family in families}
    text = write_rules(Thresholds(backup_seconds=3_600)) if written == "rules" else write_dashboard()
    named = set(re.findall(r"gossamer_[a-z_]+", text))
    assert {name for name in named if not {name, re.sub("_(total|bucket|info)$", "", name)} & known} == set()


def test_the_dashboard_is_one() -> None:
    made = json.loads(write_dashboard())
    assert len(made["panels"]) == len(grafana.PANELS) + 1
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])


def test_every_alert_and_every_metric_is_documented() -> None:
    text = DOCUMENT.read_text()
    assert [rule.name for rule in RULES if f"### {rule.name}\n" not in text] == []
    for family in Metrics("0").exposition.collect():
        if family.name.startswith("gossamer_"):
            name = family.name + (
                "_total" if family.type == "counter" else "_info" if family.type == "info" else ""
            )
            assert f"| `{name}` |" in text, name
            assert family.documentation in text
