"""Files of rules on the command line."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gossamer.web.sites.site_rule import SiteRule


def read_rules(path: Path, *, home: str | None) -> "tuple[SiteRule, ...]":
    """`home` is the origin that rules without a host are about; None: each must have one."""
    from gossamer.flows.sites.rule_file import BadRuleFile, read_rule_file

    try:
        return read_rule_file(path, home=home)
    except BadRuleFile as error:
        raise click.ClickException(str(error)) from None
