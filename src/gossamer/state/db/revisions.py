"""The revisions of the schema: which one a database has, what leads to the newest, and how to get there."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import Connection, inspect, text
from sqlalchemy.engine.interfaces import Dialect

if TYPE_CHECKING:
    from alembic.config import Config


class MigrationStep(Struct, frozen=True):
    revision: str
    about: str  # the first line of its description


class MigrationPlan(Struct, frozen=True):
    """What a migration would do."""

    revision: str | None  # of the database now; None if it has no schema yet
    head: str
    steps: Sequence[MigrationStep]
    sql: str


def read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def upgrade(connection: Connection) -> None:
    # Imported here because it takes a good part of a second, and most starts find nothing to do.
    from alembic import command

    command.upgrade(_config(connection=connection), "head")


def plan(revision: str | None, head: str, dialect: Dialect) -> MigrationPlan:
    """Write the statements down instead of running them. Needs no database."""
    if revision == head:
        return MigrationPlan(revision, head, (), "")
    from alembic import command
    from alembic.script import ScriptDirectory

    written = io.StringIO()
    config = _config(dialect=dialect, written=written)
    ways = ScriptDirectory.from_config(config).iterate_revisions("head", revision or "base")
    steps = [MigrationStep(way.revision, way.doc) for way in ways]
    command.upgrade(config, f"{revision}:head" if revision else "head", sql=True)
    return MigrationPlan(revision, head, tuple(reversed(steps)), written.getvalue().strip())


def _config(**attributes: object) -> "Config":
    from alembic.config import Config

    config = Config(attributes=attributes)
    scripts = str(Path(__file__).with_name("migrations"))
    config.set_main_option("script_location", scripts.replace("%", "%%"))
    return config
