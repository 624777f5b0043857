"""Times as options: `2030-01-31` or `2030-01-31T12:00:00Z`. Without a zone it is UTC."""

from datetime import UTC, datetime

import click


def parse_moment(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter("give a time such as 2030-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
