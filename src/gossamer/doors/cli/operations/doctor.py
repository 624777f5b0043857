"""`gossamer doctor`: says of each part of an installation whether it is well, and what to do."""

import asyncio
import sys
from typing import Any, Final

import click
import msgspec

from gossamer.doors.cli import Build, load, quiet_log, with_settings
from gossamer.doors.cli.shared.service import CommandService
from gossamer.flows.doctor.diagnosis import Condition, Diagnosis, worst
from gossamer.settings.settings import SettingError

_MARKS: Final = {
    Condition.OK: ("ok", "green"),
    Condition.COULD_BE_BETTER: ("could be better", "yellow"),
    Condition.BROKEN: ("broken", "red"),
}
_WIDTH: Final = max(len(mark) for mark, _ in _MARKS.values())


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_settings()
@click.pass_obj
def doctor(build: Build, /, as_json: bool, **flags: Any) -> None:
    """Examine this installation: everything it depends on, this machine, and what you chose.

    Nothing is changed. The exit code is 1 if something is broken, and 0 otherwise.
    """
    settings = load(flags)
    found = asyncio.run(_examine(build(settings, quiet_log(settings))))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"diagnoses": found}), indent=2))
    else:
        for diagnosis in found:
            _show(diagnosis)
    if worst(found) is Condition.BROKEN:
        sys.exit(1)


async def _examine(service: CommandService) -> list[Diagnosis]:
    try:
        try:
            await service.open_proxy()
        except SettingError as error:  # a fence that is required and not possible: the browser says so too
            click.echo(f"gossamer: {error}", err=True)
        return await service.doctor.examine()
    finally:
        await service.close()


def _show(diagnosis: Diagnosis) -> None:
    mark, colour = _MARKS[diagnosis.condition]
    click.echo(f"{click.style(f'{mark:{_WIDTH}}', fg=colour)}  {diagnosis.subject}: {diagnosis.finding}")
    if diagnosis.advice:
        click.echo(f"{'':{_WIDTH}}  {click.style(diagnosis.advice, dim=True)}")
