"""`gossamer memory get|put|list|search|delete|export|import`: what agents remember, here or on a server."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, get_args

import click
import msgspec

from gossamer.client.calls.memory import MemoryCalls
from gossamer.client.client import Client
from gossamer.client.options import RememberedPageKeywords, ValueKeywords
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.embedded.owner import as_owner
from gossamer.web.memory.memory_answer import MemoryHit, MemoryOverview
from gossamer.web.memory.memory_entry import MemoryEntry, MemoryFormat
from gossamer.web.memory.memory_names import DEFAULT_NAMESPACE
from gossamer.web.pages.page_request import Rendering
from gossamer.web.search.snippet import MARK

T = TypeVar("T")
NOTHING: Final = 3
_WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url", "memory_versions")
_READING: Final = ("egress_allow", "egress_ports", "user_agent")
_NAMESPACE: Final = click.option(
    "--namespace", "-n", default=DEFAULT_NAMESPACE, show_default=True, help="Where it is kept."
)
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("memory")
def memory_group() -> None:
    """Keep values and pages by key, find them again, and export or delete them."""


@memory_group.command()
@click.argument("key")
@click.option("--version", type=click.IntRange(1), help="An earlier version that is kept.")
@click.option("--json", "as_json", is_flag=True, help="Print everything that is known of it.")
@_NAMESPACE
@with_settings(_WHERE)
@click.pass_obj
def get(build: Build, /, key: str, version: int | None, as_json: bool, namespace: str, **flags: Any) -> None:
    """Print the value of KEY: text as it is, and everything else as JSON. Exit code 3: it is not there."""
    found = _run(build, flags, lambda memory: memory.get(key, namespace=namespace, version=version))
    if found is None:
        click.echo(f"gossamer: there is no {key!r} in {namespace!r}.", err=True)
        sys.exit(NOTHING)
    if as_json:
        click.echo(msgspec.json.encode(found))
    elif isinstance(found.value, str):
        click.echo(found.value)
    else:
        click.echo(msgspec.json.encode(found.value))


@memory_group.command()
@click.argument("key")
@click.argument("value", required=False)
@click.option(
    "--file", "file", type=click.File("rb"), help="Read the value from a file; - is standard input."
)
@click.option("--url", metavar="URL", help="Remember this page instead of a value.")
@click.option("--refresh", is_flag=True, help="Read the page of KEY again.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(MemoryFormat)),
    help="What the value is; by default text, and of a file that ends with .json or .md what that says.",
)
@click.option("--title", default="", help="Shown in lists; counts in searches.")
@click.option("--tag", "tags", multiple=True, help="By which it can be found; may be repeated.")
@click.option("--ttl", type=click.IntRange(1), help="Seconds after which it is gone.")
@click.option(
    "--if-version", type=click.IntRange(0), help="Only if KEY has this version; 0: only if it is not there."
)
@click.option("--render", type=click.Choice(get_args(Rendering)), help="Whether a page needs a browser.")
@_NAMESPACE
@with_settings((*_WHERE, *_READING))
@click.pass_obj
def put(
    build: Build,
    /,
    key: str,
    value: str | None,
    file: BinaryIO | None,
    url: str | None,
    refresh: bool,
    format_: MemoryFormat | None,
    title: str,
    tags: tuple[str, ...],
    ttl: int | None,
    if_version: int | None,
    render: Rendering | None,
    namespace: str,
    **flags: Any,
) -> None:
    """Remember VALUE, a file or a page as KEY. What was there becomes an earlier version."""
    if [value is not None, file is not None, url is not None, refresh].count(True) != 1:
        raise click.UsageError("Give one of VALUE, --file, --url and --refresh.")

    async def write(memory: MemoryCalls) -> MemoryEntry:
        if url is not None or refresh:
            wishes = RememberedPageKeywords(title=title, ttl=ttl, if_version=if_version)
            if tags:
                wishes["tags"] = tags
            if render is not None:
                wishes["render"] = render
            return await memory.put_page(key, url, namespace=namespace, **wishes)
        text, shape = _given(value, file, format_)
        options = ValueKeywords(format=shape, title=title, tags=tags, ttl=ttl, if_version=if_version)
        return await memory.put(key, text, namespace=namespace, **options)

    entry = _run(build, flags, write)
    click.echo(f"{entry.namespace}/{entry.key}: version {entry.version}, {entry.size:,} bytes.")


@memory_group.command("list")
@click.argument("namespace", required=False)
@click.option("--prefix", default="", help="Only keys that begin so.")
@click.option("--tag", default="", help="Only entries with this tag.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="The most entries.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def list_entries(
    build: Build, /, namespace: str | None, prefix: str, tag: str, limit: int, as_json: bool, **flags: Any
) -> None:
    """List the entries of NAMESPACE by their keys; without it, the namespaces."""
    if namespace is None:
        _print_namespaces(_run(build, flags, lambda memory: memory.overview()), as_json)
        return
    found = _run(build, flags, lambda memory: memory.list(namespace, prefix=prefix, tag=tag, limit=limit))
    if as_json:
        click.echo(b"".join(msgspec.json.encode(entry) + b"\n" for entry in found), nl=False)
        return
    rows = [("KEY", "VERSION", "BYTES", "UPDATED", "TITLE OR TAGS")]
    rows += [
        (
            _plain(entry.key),
            str(entry.version),
            f"{entry.size:,}",
            entry.updated_at[:16].replace("T", " "),
            _plain(entry.title or ", ".join(entry.tags)),
        )
        for entry in found
    ]
    print_table(rows)


@memory_group.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--namespace", "-n", "namespaces", multiple=True, help="Only here; may be repeated.")
@click.option("--tag", "tags", multiple=True, help="Only entries that have all of these tags.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="The most results.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def search(
    build: Build,
    /,
    query: tuple[str, ...],
    namespaces: tuple[str, ...],
    tags: tuple[str, ...],
    limit: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """Find entries by words. Exit code 3: nothing was found."""
    asked = " ".join(query)
    found = _run(
        build, flags, lambda memory: memory.search(asked, namespaces=namespaces, tags=tags, limit=limit)
    )
    for word, meant in (found.corrected or {}).items():
        click.echo(f"gossamer: no entry has {word!r}, searched for {meant!r}", err=True)
    for hit in found.results:
        click.echo(msgspec.json.encode(hit) if as_json else _format(hit))
    sys.exit(0 if found.results else NOTHING)


@memory_group.command()
@click.argument("key", required=False)
@click.option(
    "--all", "everything", is_flag=True, help="The whole namespace; with --everywhere, all of them."
)
@click.option("--everywhere", is_flag=True, help="With --all: everything that was remembered.")
@_NAMESPACE
@with_settings(_WHERE)
@click.pass_obj
def delete(
    build: Build, /, key: str | None, everything: bool, everywhere: bool, namespace: str, **flags: Any
) -> None:
    """Delete KEY with all its versions, or with --all a namespace."""
    if (key is None) != everything or (everywhere and not everything):
        raise click.UsageError("Give KEY, or --all.")

    async def remove(memory: MemoryCalls) -> bool:
        if key is not None:
            return await memory.delete(key, namespace=namespace)
        await (memory.delete_everything() if everywhere else memory.delete_namespace(namespace))
        return True

    if not _run(build, flags, remove):
        click.echo(f"gossamer: there is no {key!r} in {namespace!r}.", err=True)
        sys.exit(NOTHING)
    click.echo("Deleted.")


@memory_group.command()
@click.option("--namespace", "-n", help="Only this namespace.")
@click.option("--output", "-o", type=click.File("wb"), default="-", help="A file to write to.")
@with_settings(_WHERE)
@click.pass_obj
def export(build: Build, /, namespace: str | None, output: BinaryIO, **flags: Any) -> None:
    """Write all entries as JSON lines."""

    async def write(memory: MemoryCalls) -> int:
        number = 0
        async with aclosing(memory.export(namespace)) as entries:
            async for entry in entries:
                output.write(msgspec.json.encode(entry) + b"\n")
                number += 1
        return number

    click.echo(f"gossamer: {_run(build, flags, write):,} entries", err=True)


@memory_group.command("import")
@click.argument("file", type=click.File("rb"))
@with_settings(_WHERE)
@click.pass_obj
def import_lines(build: Build, /, file: BinaryIO, **flags: Any) -> None:
    """Read entries from FILE, as `export` writes them. What is there already gets a new version."""
    number = _run(build, flags, lambda memory: memory.load(file))
    click.echo(f"gossamer: {number:,} entries", err=True)


def _run(build: Build, /, flags: dict[str, Any], ask: Callable[[MemoryCalls], Awaitable[T]]) -> T:
    async def work(web: Client) -> T:
        return await ask(web.memory)

    return asyncio.run(web_access(build, flags, acting=as_owner).ask(work))


def _given(value: str | None, file: BinaryIO | None, shape: MemoryFormat | None) -> tuple[Any, MemoryFormat]:
    """The value, and what it is."""
    name = "" if file is None else str(getattr(file, "name", ""))
    known: dict[str, MemoryFormat] = {".json": "json", ".md": "markdown"}
    found = shape or known.get(Path(name).suffix, "text")
    try:
        text = value if file is None else file.read().decode()
        return (msgspec.json.decode(text or "") if found == "json" else text), found
    except UnicodeDecodeError:
        raise click.UsageError(f"{name} is not UTF-8.") from None
    except msgspec.DecodeError as error:
        raise click.UsageError(f"The value is not JSON: {error}.") from None


def _print_namespaces(found: MemoryOverview, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("NAMESPACE", "ENTRIES", "BYTES", "CREATED")]
    rows += [
        (one.name, f"{one.entries:,}", f"{one.bytes:,}", one.created_at[:16].replace("T", " "))
        for one in found.namespaces
    ]
    print_table(rows)


def _format(hit: MemoryHit) -> str:
    entry = hit.entry
    head = click.style(f"{entry.namespace}/{_plain(entry.key)}", bold=True)
    title = f"  {_plain(entry.title)}" if entry.title else ""
    pieces = _plain(hit.snippet).split(MARK)
    marked = "".join(click.style(piece, bold=True) if at % 2 else piece for at, piece in enumerate(pieces))
    return f"{head}{title}\n{marked}\n"


def _plain(text: str) -> str:
    """Without control characters, because it may come from other people."""
    return "".join(each if each.isprintable() else "?" for each in text)
