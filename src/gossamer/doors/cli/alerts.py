"""`gossamer alerts`: the rules of alerts and a dashboard, for Prometheus and Grafana."""

import click

from gossamer.doors.cli import load
from gossamer.flows.alerts.grafana import write_dashboard
from gossamer.flows.alerts.prometheus import write_rules
from gossamer.flows.alerts.rules import Thresholds


@click.group("alerts")
def alerts_group() -> None:
    """Write what Prometheus and Grafana need to watch Gossamer."""


@alerts_group.command("rules")
def rules() -> None:
    """Write the rules of alerts for Prometheus, with the thresholds of the settings."""
    click.echo(write_rules(Thresholds.of(load({}))), nl=False)


@alerts_group.command("dashboard")
def dashboard() -> None:
    """Write a dashboard for Grafana."""
    click.echo(write_dashboard(), nl=False)
