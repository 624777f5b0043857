"""`gossamer webhooks list|add|change|remove|secret|rotate|test|events|deliveries|retry`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import click
import msgspec

from gossamer.client.client import Client
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.cli.shared.moment import parse_moment
from gossamer.doors.embedded.owner import as_owner
from gossamer.web.webhooks.attempt import DeliveryState
from gossamer.web.webhooks.delivery import DeliveryDetail, ShownDelivery
from gossamer.web.webhooks.endpoint import DAY_SECONDS, CreatedWebhook, ShownWebhook

T = TypeVar("T")
_WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
_EVENTS: Final = click.option(
    "--event", "events", multiple=True, metavar="TYPE", help="A type, a group such as crawl.*, or *."
)
_HEADERS: Final = click.option(
    "--header", "headers", multiple=True, metavar="NAME:VALUE", help="A header to send along."
)
_DESCRIPTION: Final = click.option("--description", help="A note for people.")


@click.group("webhooks")
def webhooks_group() -> None:
    """Register addresses that are told of events, and look at what they were sent."""


@webhooks_group.command("list")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def list_webhooks(build: Build, /, as_json: bool, **flags: Any) -> None:
    """List the webhooks, newest first."""
    found = _run(build, flags, lambda web: web.webhooks(limit=1_000))
    _print(found, as_json)


@webhooks_group.command()
@click.argument("url")
@_EVENTS
@_DESCRIPTION
@_HEADERS
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def add(
    build: Build,
    /,
    url: str,
    events: tuple[str, ...],
    description: str | None,
    headers: tuple[str, ...],
    as_json: bool,
    **flags: Any,
) -> None:
    """Register an address, and print the secret that signs what is sent there."""
    wanted = {"description": description or "", "headers": _headers(headers), "events": events or ("*",)}

    async def ask(web: Client) -> CreatedWebhook:
        return await web.add_webhook(url, **wanted)  # type: ignore[arg-type]

    _print_created(_run(build, flags, ask), as_json)


@webhooks_group.command()
@click.argument("id")
@click.option("--url", help="Where to send events from now on.")
@_EVENTS
@_DESCRIPTION
@_HEADERS
@click.option("--enable/--disable", "enabled", default=None, help="Whether it hears anything.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def change(
    build: Build,
    /,
    id: str,
    url: str | None,
    events: tuple[str, ...],
    description: str | None,
    headers: tuple[str, ...],
    enabled: bool | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Change a webhook; what is not named stays as it is."""
    given: dict[str, Any] = {
        "url": url,
        "events": events or None,
        "description": description,
        "enabled": enabled,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    if headers:
        wanted["headers"] = _headers(headers)

    async def ask(web: Client) -> ShownWebhook:
        return await web.change_webhook(id, **wanted)

    _print([_run(build, flags, ask)], as_json)


@webhooks_group.command()
@click.argument("id")
@with_settings(_WHERE)
@click.pass_obj
def remove(build: Build, /, id: str, **flags: Any) -> None:
    """Remove a webhook, and the log of its deliveries."""
    _run(build, flags, lambda web: web.remove_webhook(id))
    click.echo(f"Removed {id}.")


@webhooks_group.command()
@click.argument("id")
@with_settings(_WHERE)
@click.pass_obj
def secret(build: Build, /, id: str, **flags: Any) -> None:
    """Print the secret of a webhook."""
    click.echo(_run(build, flags, lambda web: web.webhook_secret(id)))


@webhooks_group.command()
@click.argument("id")
@click.option(
    "--keep-old",
    type=click.IntRange(0),
    default=DAY_SECONDS,
    show_default=True,
    help="Seconds for which the old secret signs beside the new one.",
)
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def rotate(build: Build, /, id: str, keep_old: int, as_json: bool, **flags: Any) -> None:
    """Replace the secret of a webhook, and print the new one."""
    rotated = _run(build, flags, lambda web: web.rotate_webhook(id, old_secret_seconds=keep_old))
    _print_created(rotated, as_json)


@webhooks_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def test(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Send a test event, and print what the receiver said. Exits with 1 if it was not heard."""
    sent = _run(build, flags, lambda web: web.test_webhook(id))
    if as_json:
        click.echo(msgspec.json.encode(sent))
    else:
        made = sent.attempts[-1]
        click.echo(f"{made.reason}: {made.status or made.detail} in {made.duration_ms:,} ms")
        if made.answer:
            click.echo(_printable(made.answer))
    if sent.state is not DeliveryState.DELIVERED:
        raise SystemExit(1)


@webhooks_group.command()
@with_settings(_WHERE)
@click.pass_obj
def events(build: Build, /, **flags: Any) -> None:
    """List the types of events."""
    found = _run(build, flags, lambda web: web.webhook_events())
    print_table([("TYPE", "WHEN"), *((each.type, each.about) for each in found)])


@webhooks_group.command()
@click.argument("id", required=False)
@click.option("--state", type=click.Choice([state.value for state in DeliveryState]), help="Only those.")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True)
@click.option("--show", "delivery", metavar="DELIVERY", help="One of them, with what is sent.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def deliveries(
    build: Build,
    /,
    id: str | None,
    state: str | None,
    limit: int,
    delivery: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """List what a webhook was sent, or all of them, newest first."""
    if delivery is not None:
        if id is None:
            raise click.UsageError("--show needs the id of the webhook too")
        _print_delivery(_run(build, flags, lambda web: web.webhook_delivery(id, delivery)))
        return
    wanted = None if state is None else DeliveryState(state)
    found = _run(build, flags, lambda web: web.webhook_deliveries(id, state=wanted, limit=limit))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("ID", "STATE", "TYPE", "ATTEMPTS", "LAST", "CREATED")]
    rows += [
        (
            one.id,
            one.state,
            one.type,
            str(len(one.attempts)),
            _last(one),
            one.created_at[:19].replace("T", " "),
        )
        for one in found
    ]
    print_table(rows)


@webhooks_group.command()
@click.argument("id")
@click.argument("delivery", required=False)
@click.option("--since", callback=parse_moment, help="Only what happened since then.")
@with_settings(_WHERE)
@click.pass_obj
def retry(build: Build, /, id: str, delivery: str | None, since: datetime | None, **flags: Any) -> None:
    """Send one delivery again, or everything that was given up."""
    if delivery is not None:
        _run(build, flags, lambda web: web.retry_webhook_delivery(id, delivery))
        click.echo(f"{delivery} is sent again.")
        return
    number = _run(build, flags, lambda web: web.retry_webhook(id, since=since))
    click.echo(f"{number:,} are sent again.")


def _run(build: Build, flags: dict[str, Any], ask: Callable[[Client], Awaitable[T]]) -> T:
    access = web_access(build, flags, acting=as_owner, works=False)
    return asyncio.run(access.ask(ask))


def _headers(given: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition(":") for each in given]
    if any(not colon for _, colon, _ in pairs):
        raise click.UsageError("--header takes NAME:VALUE")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _print(found: Sequence[ShownWebhook], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("ID", "STATE", "EVENTS", "URL")]
    rows += [(one.id, state_of(one), ",".join(one.events), _printable(one.url)) for one in found]
    print_table(rows)


def state_of(webhook: ShownWebhook) -> str:
    if webhook.disabled_reason is not None:
        return f"disabled ({webhook.disabled_reason})"
    return "enabled" if webhook.failing_since is None else "failing"


def _print_created(created: CreatedWebhook, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(created))
        return
    click.echo(f"id      {created.id}")
    click.echo(f"url     {_printable(created.url)}")
    click.echo(f"secret  {created.secret}")
    if created.old_secret_until is not None:
        click.echo(f"The old secret signs too until {created.old_secret_until}.")


def _print_delivery(shown: DeliveryDetail) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())


def _last(delivery: ShownDelivery) -> str:
    if not delivery.attempts:
        return delivery.reason or "-"
    made = delivery.attempts[-1]
    return str(made.status or made.reason)


def _printable(text: str) -> str:
    """One line without control characters, because it may come from other people."""
    return "".join(each if each.isprintable() else "?" for each in text)
