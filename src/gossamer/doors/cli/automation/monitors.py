"""`gossamer monitors add|list|show|check|diff|snooze|mute|pause|remove|try`: be told of changes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

from gossamer.client.client import Client
from gossamer.client.options import MonitorChangeKeywords
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.embedded.owner import as_owner

if TYPE_CHECKING:
    from gossamer.web.monitors.monitor_answer import ChangeLine, MonitorLine, ShownMonitor
    from gossamer.web.monitors.rules.change_reason import ChangeReason

T = TypeVar("T")
SHOWN: Final = 10  # changes
_WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group("monitors")
def monitors_group() -> None:
    """Watch pages, and be told when they really change.

    A server or worker that runs on the same data looks at them.
    """


@monitors_group.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option("--search", "query", help="Watch the results of a search instead.")
@click.option("--crawl", "crawl_id", help="Or the pages of a crawl.")
@click.option("--every", metavar="DURATION", default="", help="15m, 6h or 1d; once a day if left out.")
@click.option("--cron", metavar="FIELDS", default="", help="Or five fields: '0 9 * * MON-FRI'.")
@click.option("--timezone", metavar="NAME", default="UTC", show_default=True, help="Of --cron.")
@click.option("--selector", "selectors", multiple=True, metavar="CSS", help="Watch only what matches.")
@click.option("--field", "fields", multiple=True, metavar="NAME[:TYPE]", help="Watch data: price:number.")
@click.option("--appear", multiple=True, metavar="WORDS", help="Tell when these words appear.")
@click.option("--disappear", multiple=True, metavar="WORDS", help="Or when they are gone.")
@click.option("--price", "price", metavar="CSS", help="Where a price is, for the three options below.")
@click.option("--below", type=float, help="Tell when the price falls below this.")
@click.option("--above", type=float, help="Or rises above this.")
@click.option(
    "--changes-by", "percent", type=float, metavar="PERCENT", help="Or changes by so many per cent."
)
@click.option("--status", is_flag=True, help="Watch for errors: the status and the outcome.")
@click.option(
    "--rules", metavar="JSON", default="", help="All rules as JSON. A name after @ is that of a file."
)
@click.option("--render", type=click.Choice(["never", "auto", "always"]), default="never", show_default=True)
@click.option("--confirm-after", type=int, default=0, metavar="SECONDS", help="Look a second time first.")
@click.option("--name", default="", help="A note for people.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def add(build: Build, /, as_json: bool, **given: Any) -> None:
    """Watch these pages."""
    asked = {name: given.pop(name) for name in _ASKED}
    body = {
        "rules": _rules(asked),
        "look": {"render": asked["render"]},
        "confirm_after": asked["confirm_after"],
        "name": asked["name"],
    }
    if asked["every"] or asked["cron"]:
        body["timing"] = {name: asked[name] for name in ("every", "cron", "timezone")}
    made = _run(build, given, lambda web: web.add_monitor(_watch(asked), **body))
    _show(made, [], as_json)


_ASKED: Final = (
    "urls",
    "query",
    "crawl_id",
    "every",
    "cron",
    "timezone",
    "selectors",
    "fields",
    "appear",
    "disappear",
    "price",
    "below",
    "above",
    "percent",
    "status",
    "rules",
    "render",
    "confirm_after",
    "name",
)


@monitors_group.command("list")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def list_monitors(build: Build, /, limit: int, as_json: bool, **flags: Any) -> None:
    """List the monitors, newest first."""
    found = _run(build, flags, lambda web: web.monitors(limit=limit))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("ID", "STATE", "CHANGES", "LAST CHANGE", "NEXT CHECK", "WATCHED", "NAME")]
    rows += [
        (
            line.monitor_id,
            _state(line),
            str(line.changes),
            _minute(line.changed_at),
            _minute(line.next_check_at),
            _plain(line.watched),
            _plain(line.name),
        )
        for line in found
    ]
    print_table(rows)


@monitors_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def show(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Show the monitor with this ID and its last changes."""

    async def ask(web: Client) -> "tuple[ShownMonitor, list[ChangeLine]]":
        return await web.monitor(id), await web.monitor_changes(id, limit=SHOWN)

    _show(*_run(build, flags, ask), as_json)


@monitors_group.command()
@click.argument("id")
@click.argument("change", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["unified", "markdown", "json"]),
    default="unified",
    show_default=True,
    help="How to write it.",
)
@with_settings(_WHERE)
@click.pass_obj
def diff(build: Build, /, id: str, change: str | None, form: Any, **flags: Any) -> None:
    """Show a CHANGE of the monitor with this ID; without one, the last."""

    async def ask(web: Client) -> Any:
        known = change
        if known is None:
            last = await web.monitor_changes(id, limit=1)
            if not last:
                raise click.ClickException("It has found no change yet.")
            known = last[0].change_id
        return await web.monitor_change(id, known, format=form)

    found = _run(build, flags, ask)
    if form == "json":
        click.echo(msgspec.json.encode(found))
        return
    for reason in found.reasons:
        click.echo(f"# {_why(reason)}")
    for part in found.parts:
        click.echo(_lines(part.text or ""), nl=False)


@monitors_group.command()
@click.argument("id")
@with_settings(_WHERE)
@click.pass_obj
def check(build: Build, /, id: str, **flags: Any) -> None:
    """Check the monitor with this ID now."""
    accepted = _run(build, flags, lambda web: web.check_monitor(id))
    click.echo(f"Queued as job {accepted.job_id}.")


@monitors_group.command()
@click.argument("id")
@click.argument("duration", default="1d", metavar="[DURATION]")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def snooze(build: Build, /, id: str, duration: str, as_json: bool, **flags: Any) -> None:
    """Tell nothing for a while: 2h, 3d; 0s ends it."""
    _show(_run(build, flags, lambda web: web.snooze_monitor(id, duration)), [], as_json)


def _changing(name: str, about: str, change: MonitorChangeKeywords) -> None:
    @monitors_group.command(name, help=about)
    @click.argument("id")
    @_JSON
    @with_settings(_WHERE)
    @click.pass_obj
    def command(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
        _show(_run(build, flags, lambda web: web.change_monitor(id, **change)), [], as_json)


_changing("mute", "Record changes of the monitor with this ID, and tell nobody.", {"muted": True})
_changing("unmute", "Tell changes of the monitor with this ID again.", {"muted": False})
_changing("pause", "Do not look for the monitor with this ID.", {"paused": True})
_changing("resume", "Look again for the monitor with this ID.", {"paused": False})


@monitors_group.command()
@click.argument("id")
@with_settings(_WHERE)
@click.pass_obj
def remove(build: Build, /, id: str, **flags: Any) -> None:
    """Delete the monitor with this ID and its history."""
    _run(build, flags, lambda web: web.remove_monitor(id))
    click.echo(f"Removed {id}.")


@monitors_group.command("try")
@click.argument("before")
@click.argument("after")
@click.option("--rules", metavar="JSON", default="", help="Rules as JSON; the text if left out.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def try_rules(build: Build, /, before: str, after: str, rules: str, as_json: bool, **flags: Any) -> None:
    """Compare two pages as a monitor would: addresses, or files of HTML or text. Nothing is stored."""
    chosen: dict[str, Any] = {"rules": _read_json(rules)} if rules else {}
    found = _run(build, flags, lambda web: web.try_rules(_page(before), _page(after), **chosen))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    click.echo("It changed." if found.changed else "It did not change.")
    for reason in found.reasons:
        click.echo(f"  {_why(reason)}")
    for noise in found.ignored:
        example = _plain(noise.new or noise.old or "")
        click.echo(f"  ignored as {noise.noise.value}: {noise.count}x, such as {example}")


def _run(build: Build, /, flags: dict[str, Any], ask: Callable[[Client], Awaitable[T]]) -> T:
    """Nothing is started by this but what is asked for; a server or worker does the work."""
    return asyncio.run(web_access(build, flags, acting=as_owner, works=False).ask(ask))


def _watch(asked: dict[str, Any]) -> dict[str, Any]:
    ways = [asked["urls"], asked["query"], asked["crawl_id"]]
    if sum(bool(way) for way in ways) != 1:
        raise click.UsageError("Give URLs, --search or --crawl.")
    if asked["query"]:
        return {"kind": "search", "query": asked["query"]}
    if asked["crawl_id"]:
        return {"kind": "crawl", "crawlId": asked["crawl_id"]}
    urls = asked["urls"]
    return {"kind": "page", "url": urls[0]} if len(urls) == 1 else {"kind": "list", "urls": urls}


def _rules(asked: dict[str, Any]) -> list[dict[str, Any]]:
    if asked["rules"]:
        return _read_json(asked["rules"])
    rules: list[dict[str, Any]] = [{"kind": "selector", "selector": one} for one in asked["selectors"]]
    if asked["fields"]:
        pairs = [name.partition(":") for name in asked["fields"]]
        rules.append({"kind": "fields", "fields": {name: type_ or "string" for name, _, type_ in pairs}})
    if asked["appear"] or asked["disappear"]:
        rules.append({"kind": "keywords", "appear": asked["appear"], "disappear": asked["disappear"]})
    if asked["price"]:
        limits = {"below": asked["below"], "above": asked["above"], "changesByPercent": asked["percent"]}
        rules.append({"kind": "number", "selector": asked["price"], **limits})
    elif any(asked[name] is not None for name in ("below", "above", "percent")):
        raise click.UsageError("Say with --price where the price is.")
    if asked["status"]:
        rules.append({"kind": "status"})
    return rules or [{"kind": "text"}]


def _read_json(given: str) -> list[dict[str, Any]]:
    try:
        text = Path(given[1:]).read_text() if given.startswith("@") else given
        return msgspec.json.decode(text, type=list[dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
        raise click.BadParameter(f"This is no JSON list of rules: {error}", param_hint="--rules") from error


def _page(given: str) -> dict[str, str]:
    if given.startswith(("http://", "https://")):
        return {"url": given}
    try:
        text = Path(given).read_text(errors="replace")
    except OSError as error:
        raise click.BadParameter(f"{given} is no address, and cannot be read: {error.strerror}") from error
    return {"html": text} if "<" in text[:1000] else {"text": text}


def _show(monitor: "ShownMonitor", found: "Sequence[ChangeLine]", as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(monitor))
        return
    timing = monitor.timing
    when = "-" if timing is None else f"every {timing.every}" if timing.every else timing.cron
    rows = [
        ("ID", monitor.monitor_id),
        ("Name", _plain(monitor.name) or "-"),
        ("Watched", _plain(monitor.watched)),
        ("When", when),
        ("State", _state(monitor)),
        ("Checked", _minute(monitor.checked_at)),
        ("Changes", str(monitor.changes)),
    ]
    for name, value in rows:
        click.echo(f"{name + ':':9} {value}")
    if found:
        click.echo("\nLast changes")
        print_table(
            [
                ("ID", "AT", "WHY"),
                *((one.change_id, _minute(one.seen_at), _why(one.reasons[0])) for one in found),
            ]
        )


def _state(line: "MonitorLine") -> str:
    quiet = " (muted)" if line.muted else " (snoozed)" if line.snoozed_until else ""
    why = f": {line.last_problem}" if line.status == "failing" else ""
    return f"{line.status}{why}{quiet}"


def _why(reason: "ChangeReason") -> str:
    """A reason in a line."""
    values = [_plain(str(value)) for value in (reason.old, reason.new) if value is not None]
    told = " -> ".join(values)
    return " ".join(filter(None, (reason.kind.value, _plain(reason.at), told)))


def _minute(moment: str | None) -> str:
    return "-" if moment is None else moment[:16].replace("T", " ")


def _plain(text: str) -> str:
    """One line without control characters, because it may come from a page."""
    return "".join(each if each.isprintable() else "?" for each in text[:80])


def _lines(text: str) -> str:
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)
