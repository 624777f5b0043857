"""`gossamer users add|list|disable|enable|password`."""

from typing import Any, Literal

import click
import msgspec

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.actor import command_actor
from gossamer.doors.cli.shared.columns import minute, print_table
from gossamer.doors.cli.shared.running import WHERE, run_with
from gossamer.doors.cli.shared.service import CommandService
from gossamer.flows.tenants.people import LINK_PATH, MAX_PEOPLE_LISTED, InvitedUser, NewUser
from gossamer.state.tenants.tenants import Role
from gossamer.state.tenants.users import User

_LINKED = (*WHERE, "public_url", "host", "port")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.group("users")
def users_group() -> None:
    """Add people who may sign in, list and disable them, and make links that let them in."""


@users_group.command()
@click.argument("email")
@click.option("--role", type=click.Choice([Role.USER.value, Role.ADMIN.value]), default=Role.USER.value)
@click.option("--tenant", metavar="EMAIL", help="The tenant that the person joins; their own if left out.")
@_JSON
@with_settings(_LINKED)
@click.pass_obj
def add(
    build: Build,
    /,
    email: str,
    role: Literal["user", "admin"],
    tenant: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Add a person with this EMAIL. Prints a link with which they set a password."""

    async def work(service: CommandService) -> tuple[InvitedUser, str]:
        invited = await service.people.add(
            NewUser(email=email, role=role, tenant=tenant or ""), command_actor()
        )
        return invited, _address(service, invited)

    _print_link(*run_with(build, flags, work), as_json)


@users_group.command("list")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def list_people(build: Build, /, as_json: bool, **flags: Any) -> None:
    """List the people who may sign in, newest first."""

    async def work(service: CommandService) -> list[User]:
        page = await service.people.list_page(limit=MAX_PEOPLE_LISTED)
        found = page.users
        while page.cursor:
            page = await service.people.list_page(cursor=page.cursor, limit=MAX_PEOPLE_LISTED)
            found += page.users
        return found

    _print_people(run_with(build, flags, work), as_json)


@users_group.command()
@click.argument("email")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def disable(build: Build, /, email: str, as_json: bool, **flags: Any) -> None:
    """Keep the person with this EMAIL out. Their sessions end at once."""
    _set_disabled(build, flags, email, as_json, disabled=True)


@users_group.command()
@click.argument("email")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def enable(build: Build, /, email: str, as_json: bool, **flags: Any) -> None:
    """Let the person with this EMAIL in again."""
    _set_disabled(build, flags, email, as_json, disabled=False)


@users_group.command()
@click.argument("email")
@_JSON
@with_settings(_LINKED)
@click.pass_obj
def password(build: Build, /, email: str, as_json: bool, **flags: Any) -> None:
    """Print a link with which the person with this EMAIL sets a new password. It works once."""

    async def work(service: CommandService) -> tuple[InvitedUser, str]:
        user = await service.people.find(email)
        invited = await service.people.invite(user.id, command_actor())
        return invited, _address(service, invited)

    _print_link(*run_with(build, flags, work), as_json)


def _set_disabled(
    build: Build, /, flags: dict[str, Any], email: str, as_json: bool, *, disabled: bool
) -> None:
    async def work(service: CommandService) -> User:
        user = await service.people.find(email)
        return await service.people.set_disabled(user.id, command_actor(), disabled=disabled)

    _print_people([run_with(build, flags, work)], as_json)


def _address(service: CommandService, invited: InvitedUser) -> str:
    return f"{service.settings.public_url}{LINK_PATH}{invited.token}"


def _print_link(invited: InvitedUser, address: str, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({**_plain(invited.user), "link": address}))
        return
    click.echo(f"{address}\n")
    user = invited.user
    click.echo(f"  {user.email}, {user.role.value} (id {user.id})")
    click.echo("  The link sets a password and works once: pass it on now.", err=True)


def _print_people(found: list[User], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode([_plain(user) for user in found]))
        return
    rows = [("ID", "EMAIL", "ROLE", "CREATED", "LAST SEEN", "STATE")]
    rows += [
        (user.id, user.email, user.role.value, minute(user.created_at), minute(user.seen_at), _state(user))
        for user in found
    ]
    print_table(rows)


def _state(user: User) -> str:
    if user.disabled_at is not None:
        return "disabled"
    return "active" if user.password_hash else "invited"


def _plain(user: User) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(user).items() if name != "password_hash"}
