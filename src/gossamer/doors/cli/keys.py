"""`gossamer keys create|list|disable|rotate`."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click
import msgspec

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.doors.cli.columns import minute, print_table
from gossamer.flows import keys
from gossamer.flows.keys import NewKey
from gossamer.state.tenants import Key, Role, Tier

T = TypeVar("T")
_WHERE = ("data_dir", "database_url", "redis_url")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group("keys")
def keys_group() -> None:
    """Make, list, disable and rotate API keys."""


@keys_group.command()
@click.option("--email", required=True, help="Whom the key is for; one may have several keys.")
@click.option("--tier", type=click.Choice([tier.value for tier in Tier]), default=Tier.PRO.value)
@click.option("--role", type=click.Choice([Role.USER.value, Role.ADMIN.value]), default=Role.USER.value)
@click.option("--label", default="", help="A note for people.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def create(
    build: Build, /, email: str, tier: str, role: str, label: str, as_json: bool, **flags: Any
) -> None:
    """Make a key. It is shown once, and works at once."""

    async def work(house: House) -> NewKey:
        async with house.database.write() as connection:
            return await keys.create(
                connection, email=email, tier=Tier(tier), role=Role(role), label=label, **_by()
            )

    _print_new(_run(build, flags, work), as_json)


@keys_group.command("list")
@click.option("--email", help="Only this customer's.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def list_keys(build: Build, /, email: str | None, as_json: bool, **flags: Any) -> None:
    """List the keys, newest first."""

    async def work(house: House) -> list[Key]:
        async with house.database.read() as connection:
            page = await keys.listing(connection, email=email, limit=keys.MAX_LISTED)
            found = page.keys
            while page.cursor:
                page = await keys.listing(connection, email=email, cursor=page.cursor, limit=keys.MAX_LISTED)
                found += page.keys
            return found

    _print_keys(_run(build, flags, work), as_json)


@keys_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def disable(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Disable the key with this ID (see `gossamer keys list`)."""

    async def work(house: House) -> Key:
        async with house.database.write() as connection:
            key = await keys.disable(connection, id, **_by())
        await house.admission.refresh(key)
        return key

    _print_keys([_run(build, flags, work)], as_json)


@keys_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def rotate(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Replace the key with this ID by a new one; the old one stops working."""

    async def work(house: House) -> NewKey:
        async with house.database.write() as connection:
            rotation = await keys.rotate(connection, id, **_by())
        await house.admission.refresh(rotation.old)
        return rotation.new

    _print_new(_run(build, flags, work), as_json)


def _run(build: Build, /, flags: dict[str, Any], work: Callable[[House], Awaitable[T]]) -> T:
    async def inside() -> T:
        settings = load(flags)
        house = build(settings, quiet_log(settings))
        try:
            await house.prepare()
            return await work(house)
        finally:
            await house.close()

    return asyncio.run(inside())


def _by() -> dict[str, Any]:
    return {"actor": f"cli:{getpass.getuser()}", "request_id": ""}


def _print_new(new: NewKey, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({**_plain(new.key), "key": new.secret}))
        return
    click.echo(f"{new.secret}\n")
    click.echo(f"  {new.key.role.value}, tier {new.key.tier.value}, for {new.key.email} (id {new.key.id})")
    click.echo("  It is stored as a hash and can't be shown again: keep it now.", err=True)


def _print_keys(found: list[Key], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode([_plain(key) for key in found]))
        return
    rows = [("ID", "PREFIX", "EMAIL", "ROLE", "TIER", "CREATED", "LAST USED", "STATE", "LABEL")]
    rows += [
        (
            key.id,
            key.prefix,
            key.email,
            key.role.value,
            key.tier.value,
            minute(key.created_at),
            minute(key.last_used_at),
            "active" if key.disabled_at is None else "disabled",
            key.label,
        )
        for key in found
    ]
    print_table(rows)


def _plain(key: Key) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(key).items() if name != "hash"}
