"""The rules of alerts in Prometheus's words."""

import json
from typing import Final

from gossamer.flows.alerts.rules import RULES, Rule, Thresholds

HEAD: Final = """\
# Written by `gossamer alerts rules`, from the same table that Gossamer evaluates by itself.
groups:
  - name: gossamer
    rules:
"""


def write_rules(thresholds: Thresholds) -> str:
    """A file of rules. A text in JSON is also one in YAML."""
    return HEAD + "".join(_write(rule, thresholds) for rule in RULES if rule.expression(thresholds))


def alert_name(rule: Rule) -> str:
    return "Gossamer" + rule.name.title().replace("_", "")


def _write(rule: Rule, thresholds: Thresholds) -> str:
    subject = f"{{{{ $labels.{rule.label} }}}}" if rule.label else "GET /api/alerts names it"
    lines = (
        f"- alert: {alert_name(rule)}",
        f"  expr: {json.dumps(rule.expression(thresholds))}",
        f"  for: {rule.patience:.0f}s",
        f"  labels: {{severity: {rule.severity.value}}}",
        "  annotations:",
        f"    summary: {json.dumps(rule.describe(subject))}",
        f"    description: {json.dumps(rule.hint)}",
    )
    return "".join(f"      {line}\n" for line in lines)
