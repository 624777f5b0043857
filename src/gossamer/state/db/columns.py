"""Column types that all tables share. Times are milliseconds since the epoch, ids are ULIDs."""

from typing import Any, Final

from sqlalchemy import BigInteger, Column, MetaData, String, text

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def id_(name: str = "id", *rest: Any, **options: Any) -> Column[str]:
    return Column(name, String(26), *rest, **options)


def text_(name: str, **options: Any) -> Column[str]:
    return Column(name, String, nullable=False, **options)


def time_(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def where_(condition: str) -> dict[str, Any]:
    """Make an index partial. Both databases support it, and SQLAlchemy has one option for each."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}
