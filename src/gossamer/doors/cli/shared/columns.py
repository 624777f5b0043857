"""Tables on a terminal."""

from collections.abc import Sequence
from datetime import UTC, datetime

import click


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print a table. The first row has the headings."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def minute(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "-"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
