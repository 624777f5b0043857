"""What a long-running installation needs beside its pages.

Servers of the revision before go on working with this schema during an upgrade, so this only adds: columns
that may be empty or have a default, tables, and indexes.
"""

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Each step adds what one part needs."""
