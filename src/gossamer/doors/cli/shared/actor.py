"""Who acts on the command line, for the log of activity."""

import getpass

from gossamer.state.tenants.activity import Actor


def command_actor() -> Actor:
    return Actor(f"cli:{getpass.getuser()}")
