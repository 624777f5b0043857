"""LazyGroup: commands that are imported when they are asked for."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

Places = Mapping[str, tuple[str, str]]  # by name: `module:command`, and what it does


class LazyGroup(click.Group):
    def __init__(self, name: str, *, places: Places, **options: Any) -> None:
        super().__init__(name, **options)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._places:
            return None
        module, _, attribute = self._places[cmd_name][0].partition(":")
        with quick_imports():
            command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._places[name][1]) for name in self.list_commands(ctx)])


@contextmanager
def quick_imports() -> Iterator[None]:
    """Importing makes no garbage, and looking for it takes a seventh of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # what was imported stays: later collections need not look at it
        gc.enable()
