"""`gossamer keys create|list|disable|rotate`."""

import time
from datetime import datetime
from typing import Any, Literal

import click
import msgspec

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.actor import command_actor
from gossamer.doors.cli.shared.columns import minute, print_table
from gossamer.doors.cli.shared.moment import parse_moment
from gossamer.doors.cli.shared.running import WHERE, run_with
from gossamer.doors.cli.shared.service import CommandService
from gossamer.flows.tenants.keys import IssuedKey, NewKey
from gossamer.state.tenants.tenants import Key, Role, Tier

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group("keys")
def keys_group() -> None:
    """Create, list, disable and rotate API keys."""


@keys_group.command()
@click.option(
    "--email", required=True, help="The customer that the key is for; a customer may have several keys."
)
@click.option("--tier", type=click.Choice([tier.value for tier in Tier]), default=Tier.PRO.value)
@click.option("--role", type=click.Choice([Role.USER.value, Role.ADMIN.value]), default=Role.USER.value)
@click.option("--label", default="", help="A note for people.")
@click.option(
    "--expires",
    callback=parse_moment,
    help="When it is refused from, such as 2030-01-31 or 2030-01-31T12:00:00Z. Without a zone it is UTC.",
)
@_JSON
@with_settings(WHERE)
@click.pass_obj
def create(
    build: Build,
    /,
    email: str,
    tier: str,
    role: Literal["user", "admin"],
    label: str,
    expires: datetime | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Create a key. It is shown once, and works at once."""

    new = NewKey(email=email, tier=Tier(tier), role=role, label=label, expires_at=expires)

    async def work(service: CommandService) -> IssuedKey:
        return await service.keys.create(new, command_actor())

    _print_issued(run_with(build, flags, work), as_json)


@keys_group.command("list")
@click.option("--email", help="Only keys of this customer.")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def list_keys(build: Build, /, email: str | None, as_json: bool, **flags: Any) -> None:
    """List the keys, newest first."""

    async def work(service: CommandService) -> list[Key]:
        return await service.keys.list_all(email)

    _print_keys(run_with(build, flags, work), as_json)


@keys_group.command()
@click.argument("id")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def disable(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Disable the key with this ID (see `gossamer keys list`)."""

    async def work(service: CommandService) -> Key:
        return await service.keys.disable(id, command_actor())

    _print_keys([run_with(build, flags, work)], as_json)


@keys_group.command()
@click.argument("id")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def rotate(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Replace the key with this ID with a new one. The old one stops working."""

    async def work(service: CommandService) -> IssuedKey:
        return await service.keys.rotate(id, command_actor())

    _print_issued(run_with(build, flags, work), as_json)


def _print_issued(issued: IssuedKey, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({**_plain(issued.key), "key": issued.secret}))
        return
    click.echo(f"{issued.secret}\n")
    key = issued.key
    click.echo(f"  {key.role.value}, tier {key.tier.value}, for {key.email} (id {key.id})")
    click.echo("  It is stored as a hash and can't be shown again: keep it now.", err=True)


def _print_keys(found: list[Key], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode([_plain(key) for key in found]))
        return
    rows = [("ID", "PREFIX", "EMAIL", "ROLE", "TIER", "CREATED", "LAST USED", "EXPIRES", "STATE", "LABEL")]
    rows += [
        (
            key.id,
            key.prefix,
            key.email,
            key.role.value,
            key.tier.value,
            minute(key.created_at),
            minute(key.last_used_at),
            minute(key.expires_at),
            _state(key),
            key.label,
        )
        for key in found
    ]
    print_table(rows)


def _state(key: Key) -> str:
    if key.disabled_at is not None:
        return "disabled"
    return "expired" if key.expires_at is not None and key.expires_at <= time.time() * 1000 else "active"


def _plain(key: Key) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(key).items() if name != "hash"}
