"""`gossamer schedules add|list|show|pause|resume|run|remove|preview`: work that starts again and again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

from gossamer.client.client import Client
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.embedded.owner import as_owner
from gossamer.web.schedules.schedule_words import ScheduleKind
from gossamer.web.schedules.timing import CatchUp

if TYPE_CHECKING:
    from gossamer.web.schedules.schedule_answer import NextRun, ScheduleLine, ShownRun, ShownSchedule

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
SHOWN_RUNS: Final = 10
_WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
_KINDS: Final = ("crawl", "batch", "audit")


def _with_timing(command: F) -> F:
    for option in (
        click.option(
            "--catch-up",
            type=click.Choice([each.value for each in CatchUp]),
            default=CatchUp.ONCE.value,
            show_default=True,
            help="What to do about runs that were missed: run the last of them late, or none.",
        ),
        click.option("--jitter", metavar="DURATION", default="", help="Run up to this much later: 10m."),
        click.option(
            "--timezone", metavar="NAME", default="UTC", show_default=True, help="Of --cron: Europe/Zurich."
        ),
        click.option("--every", metavar="DURATION", default="", help="90s, 15m, 6h, 1d or 2w."),
        click.option(
            "--cron", metavar="FIELDS", default="", help="Five fields: '0 9 * * MON-FRI'; or @daily."
        ),
    ):
        command = option(command)
    return command


@click.group("schedules")
def schedules_group() -> None:
    """Start crawls, batches and audits again and again.

    A server or worker that runs on the same data fires them.
    """


@schedules_group.command()
@click.argument("kind", type=click.Choice(_KINDS))
@click.argument("addresses", nargs=-1, required=True, metavar="URL...")
@_with_timing
@click.option(
    "--options",
    metavar="JSON",
    default="{}",
    help="More of what its endpoint takes, such as '{\"maxPages\": 100}'. A name after @ is that of a file.",
)
@click.option("--name", default="", help="A note for people.")
@click.option("--paused", is_flag=True, help="Do not run it until it is resumed.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def add(
    build: Build,
    /,
    kind: str,
    addresses: tuple[str, ...],
    options: str,
    name: str,
    paused: bool,
    as_json: bool,
    cron: str,
    every: str,
    timezone: str,
    jitter: str,
    catch_up: str,
    **flags: Any,
) -> None:
    """Start a crawl, a batch or an audit of these URLs again and again."""
    task = {"kind": kind, **_addresses(kind, addresses), **_read_options(options)}
    timing = _timing(cron, every, timezone, jitter, catch_up)

    async def ask(web: Client) -> "ShownSchedule":
        return await web.add_schedule(task, timing, name=name, paused=paused)

    _show(_run(build, flags, ask), [], as_json)


@schedules_group.command("list")
@click.option("--kind", type=click.Choice([each.value for each in ScheduleKind]), help="Only these.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def list_schedules(build: Build, /, kind: str | None, limit: int, as_json: bool, **flags: Any) -> None:
    """List the schedules, newest first."""

    async def ask(web: Client) -> "list[ScheduleLine]":
        return await web.schedules(kind=kind, limit=limit)

    found = _run(build, flags, ask)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("ID", "KIND", "WHEN", "STATE", "NEXT RUN", "LAST RUN", "NAME")]
    rows += [
        (
            line.schedule_id,
            line.kind.value,
            _when(line),
            _state(line),
            _minute(line.next_run_at),
            _last(line),
            _plain(line.name),
        )
        for line in found
    ]
    print_table(rows)


@schedules_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def show(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Show the schedule with this ID, its next runs and its last ones."""

    async def ask(web: Client) -> "tuple[ShownSchedule, list[ShownRun]]":
        return await web.schedule(id), await web.schedule_runs(id, limit=SHOWN_RUNS)

    _show(*_run(build, flags, ask), as_json)


@schedules_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def pause(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Pause the schedule with this ID. What it has started goes on."""
    _show(_run(build, flags, lambda web: web.pause_schedule(id)), [], as_json)


@schedules_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def resume(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Let the schedule with this ID run again."""
    _show(_run(build, flags, lambda web: web.resume_schedule(id)), [], as_json)


@schedules_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def run(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Run the schedule with this ID now. Its next runs stay as they are planned."""
    started = _run(build, flags, lambda web: web.run_schedule(id))
    click.echo(msgspec.json.encode(started) if as_json else f"Started {started.work_id}.")


@schedules_group.command()
@click.argument("id")
@with_settings(_WHERE)
@click.pass_obj
def remove(build: Build, /, id: str, **flags: Any) -> None:
    """Delete the schedule with this ID and its history. What it has started stays."""
    _run(build, flags, lambda web: web.remove_schedule(id))
    click.echo(f"Removed {id}.")


@schedules_group.command()
@_with_timing
@click.option("--count", type=click.IntRange(1, 50), default=10, show_default=True, help="How many runs.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def preview(
    build: Build,
    /,
    count: int,
    as_json: bool,
    cron: str,
    every: str,
    timezone: str,
    jitter: str,
    catch_up: str,
    **flags: Any,
) -> None:
    """Show when a timing would run. Nothing is stored."""
    timing = _timing(cron, every, timezone, jitter, catch_up)
    found = _run(build, flags, lambda web: web.preview_timing(timing, count=count))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    _print_next(found)


def _run(build: Build, /, flags: dict[str, Any], ask: Callable[[Client], Awaitable[T]]) -> T:
    """Nothing is started by this but what is asked for; a server or worker does the work."""
    return asyncio.run(web_access(build, flags, acting=as_owner, works=False).ask(ask))


def _timing(cron: str, every: str, timezone: str, jitter: str, catch_up: str) -> dict[str, str]:
    return {"cron": cron, "every": every, "timezone": timezone, "jitter": jitter, "catchUp": catch_up}


def _addresses(kind: str, addresses: Sequence[str]) -> dict[str, Any]:
    if kind == "audit":
        if len(addresses) > 1:
            raise click.UsageError("An audit is of one page or site: give one URL.")
        return {"url": addresses[0]}
    return {"seeds" if kind == "crawl" else "urls": addresses}


def _read_options(given: str) -> dict[str, Any]:
    try:
        if given.startswith("@"):
            with click.open_file(given[1:], "rb") as file:
                given = file.read().decode()
        return msgspec.json.decode(given, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"This is no JSON object: {error}", param_hint="--options") from error


def _show(schedule: "ShownSchedule", runs: "Sequence[ShownRun]", as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(schedule))
        return
    rows = [
        ("ID", schedule.schedule_id),
        ("Name", _plain(schedule.name) or "-"),
        ("Starts", schedule.kind.value),
        ("When", _when(schedule)),
        ("State", _state(schedule)),
        ("Made by", _plain(schedule.made_by) or "-"),
    ]
    for name, value in rows:
        click.echo(f"{name + ':':9} {value}")
    if schedule.next_runs:
        click.echo("\nNext runs")
        _print_next(schedule.next_runs)
    if runs:
        click.echo("\nLast runs")
        print_table([("AT", "STATUS", "WHY", "MISSED", "WORK"), *(_run_row(each) for each in runs)])


def _print_next(found: "Sequence[NextRun]") -> None:
    for each in found:
        click.echo(f"  {each.local}  ({each.at[:16].replace('T', ' ')} UTC)")


def _run_row(run: "ShownRun") -> tuple[str, ...]:
    why = _plain(": ".join(filter(None, (run.reason, run.detail))))
    return (
        _minute(run.at),
        run.status.value,
        why or run.trigger.value,
        str(run.missed or "-"),
        run.work_id or "-",
    )


def _when(line: "ScheduleLine") -> str:
    timing = line.timing
    jitter = f" + {timing.jitter}" if timing.jitter else ""
    return f"every {timing.every}{jitter}" if timing.every else f"{timing.cron} ({timing.timezone}){jitter}"


def _state(line: "ScheduleLine") -> str:
    if line.pause_reason is not None:
        return "paused" if line.pause_reason.value == "request" else f"stopped: {line.pause_reason.value}"
    if line.failures:
        return f"failed {line.failures}x"
    return "running" if line.is_running else "active"


def _last(line: "ScheduleLine") -> str:
    return "-" if line.last_run is None else f"{_minute(line.last_run.at)} {line.last_run.status.value}"


def _minute(moment: str | None) -> str:
    return "-" if moment is None else moment[:16].replace("T", " ")


def _plain(text: str) -> str:
    """One line without control characters, because it may come from other people."""
    return "".join(each if each.isprintable() else "?" for each in text[:80])
