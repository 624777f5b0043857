"""An option of a crawl is declared in one place, `web/crawl/spec.py`, and everything else follows from it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from gossamer.doors.cli.options import (
    first_given_option,
    from_options,
    markdown_table,
    options_of,
    with_options,
)
from gossamer.web.crawl import spec
from gossamer.web.crawl.spec import CrawlOptions, CrawlSpec, NewCrawl

DOCUMENTATION = Path(__file__).parents[5] / "docs" / "api.md"
ANCHOR = "    ignore_trailing_slash: "
LINE = '    follow_images: Annotated[bool, Meta(description="Treat images as pages.")] = False\n'


def test_the_documentation_has_every_option() -> None:
    assert markdown_table(NewCrawl) in DOCUMENTATION.read_text("utf-8")


def test_the_command_has_the_flags_that_people_know() -> None:
    assert {one.name: one.flag for one in options_of(NewCrawl)} == {
        "scope": "--scope",
        "include": "--include",
        "exclude": "--exclude",
        "max_pages": "--max-pages",
        "max_depth": "--max-depth",
        "max_urls_per_page": "--max-urls-per-page",
        "delay": "--delay",
        "render": "--render",
        "screenshots": "--screenshots",
        "sitemaps": "--no-sitemaps",
        "ignore_parameters": "--ignore-parameter",
        "ignore_trailing_slash": "--ignore-trailing-slash",
        "traps": "--traps",
        "trap_exceptions": "--trap-exception",
        "refresh": "--refresh",
        "refresh_budget": "--refresh-budget",
        "refresh_least": "--refresh-least",
        "refresh_most": "--refresh-most",
        "headers": "--header",
        "name": "--name",
    }


def read(*words: str) -> Any:
    """What the command line makes of these words."""
    found: list[Any] = []

    @click.command()
    @with_options(NewCrawl)
    def command(**flags: Any) -> None:
        found.append((from_options(NewCrawl, flags, seeds=("http://a/",)), first_given_option(NewCrawl)))

    result = CliRunner().invoke(command, words)
    return found[0] if found else result.output


def test_flags_become_the_spec_that_a_body_becomes() -> None:
    assert read() == (NewCrawl(seeds=("http://a/",)), None)
    words = [
        "--scope",
        "any",
        "--include",
        "/a*",
        "--include",
        "*b",
        "--max-pages",
        "7",
        "--delay",
        "0.5",
        "--no-sitemaps",
        "--ignore-parameter",
        "x",
        "--ignore-trailing-slash",
        "--header",
        "Cookie:a=b",
    ]
    body = {
        "seeds": ["http://a/"],
        "scope": "any",
        "include": ["/a*", "*b"],
        "maxPages": 7,
        "delay": 0.5,
        "sitemaps": False,
        "ignoreParameters": ["x"],
        "ignoreTrailingSlash": True,
        "headers": {"Cookie": "a=b"},
    }
    assert read(*words) == (msgspec.json.decode(json.dumps(body), type=NewCrawl), "--scope")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--max-pages 0", "is not in the range"),
        ("--scope moon", "is not one of"),
        ("--header Cookie", "is no header"),
        (f"--include {'x' * 501}", "length <= 500"),
    ],
)
def test_flags_are_checked_as_strictly_as_a_body(words: str, complaint: str) -> None:
    assert complaint in read(*words.split())


def test_the_values_of_headers_are_not_shown() -> None:
    assert "secret" not in repr(CrawlSpec(headers={"Cookie": "secret"}))
    assert "Cookie" in repr(CrawlSpec(headers={"Cookie": "secret"}))


def test_a_new_option_is_one_line(tmp_path: Path) -> None:
    """Runs Gossamer with one more line in the declaration, and looks where the option has got to."""
    script = f"from {__name__} import declare_another, look; declare_another(); look()"
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "decoded": True,
        "stored": True,
        "shown": True,
        "schemas": [True, True],
        "flag": "--follow-images",
        "table": "| `followImages` | `--follow-images` | `false` | Treat images as pages. |",
    }


def declare_another() -> None:
    """Declare one more option, before anything has used the declaration."""
    source = Path(spec.__file__).read_text("utf-8")
    for name in [name for name in sys.modules if name.startswith("gossamer.") and name != spec.__name__]:
        del sys.modules[name]
    assert source.count(ANCHOR) == 1
    exec(source.replace(ANCHOR, LINE + ANCHOR), vars(spec))
    sys.modules[spec.__name__] = spec


def look() -> None:
    from gossamer.doors.cli.options import markdown_table, options_of
    from gossamer.doors.http.api.crawl.crawl_shapes import to_api
    from gossamer.state.crawl.crawls import Crawls
    from gossamer.state.db.database import open_database
    from gossamer.state.tenants import tenants
    from gossamer.web.crawl.crawl_answer import ShownCrawl
    from gossamer.web.crawl.spec import NewCrawl

    async def store(new: Any) -> Any:
        database = open_database(f"sqlite:///{sys.argv[1]}/gossamer.db")
        try:
            await database.migrate()
            async with database.write() as connection:
                tenant = await tenants.ensure_tenant(connection, "owner@example.com")
            return await Crawls(database).create(tenant.id, new.spec)
        finally:
            await database.close()

    body = b'{"seeds": ["http://a/"], "followImages": true}'
    new: Any = msgspec.json.decode(body, type=NewCrawl)
    crawl = asyncio.run(store(new))
    _, schemas = msgspec.json.schema_components([NewCrawl, ShownCrawl])
    (option,) = [one for one in options_of(NewCrawl) if one.name == "follow_images"]
    found = {
        "decoded": new.follow_images,
        "stored": crawl.spec.follow_images,
        "shown": msgspec.to_builtins(to_api(crawl))["options"]["followImages"],
        "schemas": ["followImages" in schemas[name]["properties"] for name in ("NewCrawl", "ShownOptions")],
        "flag": option.flag,
        "table": next(line for line in markdown_table(NewCrawl).splitlines() if "followImages" in line),
    }
    print(json.dumps(found))


def test_options_are_what_an_answer_shows() -> None:
    assert set(CrawlSpec.__struct_fields__) - set(CrawlOptions.__struct_fields__) == {
        "seeds",
        "headers",
        "rules",
    }
