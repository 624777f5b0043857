"""What Gossamer depends on: database, hot store, blobs, browser and its fence, fonts, names."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from gossamer.flows.doctor.diagnosis import Diagnosis, broken, improvable, ok
from gossamer.problems import Problem, Unavailable
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.browser.launcher import NoBrowser
from gossamer.reach.net.names import Names
from gossamer.reach.sandbox.fence import REMEDIES, Fence
from gossamer.settings.settings import Settings
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.database import Database, DatabaseTooNew
from gossamer.state.kv.hot import Hot
from gossamer.state.memory import stores

OLDEST_REDIS: Final = (7, 0)
COMMON_SCRIPTS: Final = (
    "Arabic",
    "Cyrillic",
    "Devanagari",
    "Greek",
    "Han",
    "Hangul",
    "Hebrew",
    "Hiragana",
    "Thai",
)
SCHEMA: Final = "schema"
Progress = Callable[[], Awaitable[tuple[int, int]]]  # pages in the search index, and those with vectors
KNOWN_NAME: Final = "example.com"  # resolves wherever names do


async def examine_database(database: Database, settings: Settings) -> list[Diagnosis]:
    """The database and its schema."""
    if database.dialect == "sqlite":
        file = Path(settings.database_url.removeprefix("sqlite:///"))
        if not await asyncio.to_thread(file.exists):
            return [improvable("database", "there is no data yet", "The first start creates it.")]
        answers = ok("database", "SQLite answers: for one machine")
    else:
        answers = ok("database", "PostgreSQL answers")
    await database.ping()
    return [answers, await _examine_schema(database)]


async def _examine_schema(database: Database) -> Diagnosis:
    try:
        plan = await database.plan_migration()
    except DatabaseTooNew as newer:
        return broken(SCHEMA, str(newer), "Install the release that made this schema, or a later one.")
    if plan.revision is None:
        return improvable(SCHEMA, "the database is empty", "The first start creates the schema.")
    if plan.steps:
        finding = f"it has revision {plan.revision}; this release has {plan.head}"
        return improvable(SCHEMA, finding, "Run `gossamer migrate`, or start a server, which does it too.")
    return ok(SCHEMA, f"revision {plan.revision}, the newest")


async def examine_memories(database: Database) -> Diagnosis:
    """What agents have remembered, all together."""
    async with database.read() as connection:
        size = await stores.total(connection)
    if not size.entries:
        return ok("agents' memory", "nothing is remembered yet")
    return ok("agents' memory", f"{size.entries:,} entries, {size.bytes / 1e6:,.1f} MB of values")


async def examine_hot(hot: Hot) -> list[Diagnosis]:
    await hot.ping()
    server = await hot.describe()
    if server is None:
        return [ok("hot store", "in the memory of this process: for one server")]
    finding = f"{server.name} {server.version} answers"
    version = tuple(int(part) for part in server.version.split(".")[:2] if part.isdigit())
    if version < OLDEST_REDIS:
        return [broken("hot store", finding, "Install Redis 7 or Valkey 7.2, or newer.")]
    found = [ok("hot store", finding)]
    if server.eviction is None:
        found.append(
            improvable("eviction", "the policy may not be read", "Make sure that it is `noeviction`.")
        )
    elif server.eviction == "noeviction":
        found.append(ok("eviction", "noeviction: nothing that is counted is pushed out"))
    else:
        advice = (
            "Set maxmemory-policy to noeviction. Gossamer trims its own pages; limits and claims must stay."
        )
        found.append(improvable("eviction", server.eviction, advice))
    return found


async def examine_blobs(blobs: Blobs) -> Diagnosis:
    """Write, list, read and delete a small blob."""
    name, body = f"doctor/{secrets.token_hex(16)}", b"gossamer doctor"
    await blobs.put(name, body)
    try:
        if await blobs.get(name) != body:
            return broken("blobs", "what is written is not what is read", "Check the bucket or the disk.")
        if name not in [found async for found, _ in blobs.listing("doctor")]:
            return broken("blobs", "what is written is not listed", "Allow listing: backups need it.")
    finally:
        await blobs.drop([name])
    if await blobs.get(name) is not None:
        return broken(
            "blobs", "a deleted blob is still there", "Allow deleting, and switch object locks off."
        )
    return ok("blobs", "written, listed, read and deleted")


async def examine_browser(browsers: Browsers) -> list[Diagnosis]:
    """Launch Chromium as a render would."""
    try:
        await browsers.ping()
    except NoBrowser:
        advice = "Install Chromium here, or start workers that have one. Everything else works without."
        return [improvable("browser", "there is no Chromium on this machine", advice)]
    except Problem as problem:
        return [broken("browser", problem.reason or problem.detail, "Look at the log of the launch.")]
    return [
        ok("browser", "it starts and answers"),
        *_examine_fence(browsers.fence),
        await _examine_fonts(browsers),
    ]


def _examine_fence(fence: Fence | None) -> list[Diagnosis]:
    if fence is None:
        return [
            improvable(
                "fence", "the browser is elsewhere", "See to it that it reaches nothing but its proxy."
            )
        ]
    missing = [
        improvable(f"fence: {layer.value}", f"not in force: {why}", f"{REMEDIES[layer].capitalize()}.")
        for layer, why in fence.missing.items()
    ]
    return [*(ok(f"fence: {layer.value}", "in force") for layer in fence.in_force), *missing]


async def _examine_fonts(browsers: Browsers) -> Diagnosis:
    missing = await browsers.missing_scripts()
    common = [script for script in COMMON_SCRIPTS if script in missing]
    if common:
        advice = "Install fonts for them (Debian: fonts-noto-core, fonts-noto-cjk)."
        return improvable("fonts", f"letters of {', '.join(common)} are shown as boxes", advice)
    rare = f"; without {', '.join(missing)}" if missing else ""
    return ok("fonts", f"all common scripts can be shown{rare}")


async def examine_names(names: Names, name: str) -> Diagnosis:
    try:
        found = await names.addresses(name)
    except Problem as problem:
        finding = f"{name} does not resolve: {problem.reason or problem.detail}"
        return broken("names", finding, "Check the name servers (GOSSAMER_DNS_SERVERS, or the system's).")
    return ok("names", f"{name} resolves to {len(found)} address{'es' if len(found) != 1 else ''}")


async def examine_embeddings(progress: Progress, model: str) -> Diagnosis:
    """Ask the model for a vector, and the database whether it can keep them."""
    try:
        pages, embedded = await progress()
    except Unavailable as away:
        advice = "Mend what is named. Until then, /search goes by words alone."
        return improvable("embeddings", f"{away.service}: {away.reason}", advice)
    return ok("embeddings", f"{model} answers; {embedded} of {pages} pages are embedded")
