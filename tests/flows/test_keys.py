"""Keys: made, listed, disabled, rotated, and every step of it on record."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from gossamer.flows.tenants import keys
from gossamer.flows.tenants.keys import IssuedKey, NewKey, Rotation
from gossamer.problems import INTERNAL_ERROR, NOT_FOUND, UNPROCESSABLE_ENTITY, VALIDATION_ERROR, Problem
from gossamer.state.db import tables
from gossamer.state.db.columns import metadata
from gossamer.state.db.database import Database
from gossamer.state.tenants import once, tenants
from gossamer.state.tenants.activity import Action, ActivityEntry, ActivityFilter, Actor, list_activity
from gossamer.state.tenants.tenants import Key, Role, Tier

NOW = 1_700_000_000_000
BY = Actor("01ADMIN", request_id="wl_1")
A_KEY = NewKey(email="a@example.com")


def sequence(*values: bytes | OSError) -> Callable[[int], bytes]:
    """A source of randomness that gives these, one after the other."""
    remaining = iter(values)

    def random_bytes(size: int) -> bytes:
        value = next(remaining)
        if isinstance(value, OSError):
            raise value
        return value.ljust(size, b".")

    return random_bytes


async def created(database: Database, email: str = "a@example.com", tier: Tier = Tier.PRO) -> IssuedKey:
    async with database.write() as connection:
        return await keys.create(connection, NewKey(email=email, tier=tier, label="shop"), BY, now=NOW)


async def log_of(database: Database, key: Key) -> list[ActivityEntry]:
    async with database.read() as connection:
        return await list_activity(connection, ActivityFilter(subject=key.id))


async def found(database: Database, secret: str) -> Key | None:
    async with database.read() as connection:
        return await tenants.find_key(connection, tenants.key_hash(secret))


@pytest.mark.parametrize(
    ("tier", "start"), [(Tier.FREE, "sk_test_"), (Tier.PRO, "sk_live_"), (Tier.ENTERPRISE, "sk_live_")]
)
async def test_seed000_8_2_format(database: Database, tier: Tier, start: str) -> None:
    new = await created(database, tier=tier)
    assert re.fullmatch(rf"{start}[A-Za-z0-9_-]{{32}}", new.secret)
    assert len(base64.urlsafe_b64decode(new.secret[8:])) == 24
    assert new.key.hash == hashlib.sha256(new.secret.encode()).hexdigest()
    assert new.key.prefix == f"{new.secret[:15]}..."


async def test_seed000_2_1_the_key_is_active_at_once(database: Database) -> None:
    new = await created(database)
    assert await found(database, new.secret) == new.key
    assert (new.key.disabled_at, new.key.created_at, new.key.label) == (None, NOW, "shop")


async def test_a_key_is_a_users_and_pro_unless_said_otherwise(database: Database) -> None:
    async with database.write() as connection:
        key = (await keys.create(connection, A_KEY, BY)).key
    assert (key.role, key.tier) == (Role.USER, Tier.PRO)


async def test_seed000_2_1_an_email_may_have_several_keys(database: Database) -> None:
    first, second = await created(database), await created(database, " A@Example.com ")
    assert first.key.tenant_id == second.key.tenant_id
    assert first.secret != second.secret


async def test_seed000_2_1_creation_is_logged_without_the_secret(database: Database) -> None:
    new = await created(database)
    (entry,) = await log_of(database, new.key)
    expected = ActivityEntry(new.key.tenant_id, Action.KEY_CREATED, new.key.id, BY, "", entry.id, NOW)
    assert entry == expected


async def test_the_secret_is_kept_nowhere_and_never_shown_by_accident(database: Database) -> None:
    new = await created(database)
    assert new.secret not in repr(new)
    async with database.read() as connection:
        for table in metadata.sorted_tables:
            rows = (await connection.execute(select(table))).all()
            assert new.secret not in str(rows)


@pytest.mark.parametrize(
    "email",
    [
        "",
        "nobody",
        "nobody@",
        "@example.com",
        "a@b",
        "a b@example.com",
        "a@@example.com",
        "a@example..com",
        ".a@example.com",
        "a.@example.com",
        "a@-example.com",
        "a@example.com-",
        "a@exa_mple.com",
        "a@192.168.0.1",
        "a@example.com\x00",
        "a@example.com\nb@example.com",
        "ä@example.com",
        f"{'a' * 65}@example.com",
        f"a@{'b' * 64}.com",
        f"a@{'b.' * 126}com",
        "a." * 100_000,
    ],
)
async def test_seed000_2_1_invalid_email(database: Database, email: str) -> None:
    with pytest.raises(Problem) as problem:
        await created(database, email)
    assert problem.value.kind is UNPROCESSABLE_ENTITY
    assert problem.value.hint is not None
    assert len(problem.value.detail) < 1_200


@pytest.mark.parametrize(
    "email",
    [
        "admin@localhost",
        "a.b+c@mail.example.co.uk",
        "o'neill@example.com",
        f"{'a' * 64}@example.com",
        "a@1.de",
    ],
)
def test_valid_email(email: str) -> None:
    assert keys.normalise_email(email) == email


@pytest.mark.parametrize("label", ["x" * 201, "two\nlines", "nul\x00", "\ud800"])
async def test_a_label_that_cannot_be_kept(database: Database, label: str) -> None:
    with pytest.raises(Problem) as problem:
        async with database.write() as connection:
            await keys.create(connection, NewKey(email="a@example.com", label=label), BY)
    assert problem.value.kind is UNPROCESSABLE_ENTITY


@pytest.mark.parametrize("failures", [(b"same",), (b"same", b"same"), (OSError(),), (b"same", OSError())])
async def test_seed000_2_1_generation_is_tried_again(
    database: Database, failures: tuple[bytes | OSError, ...]
) -> None:
    async with database.write() as connection:
        await keys.create(connection, A_KEY, BY, random_bytes=sequence(b"same"))
        source = sequence(*failures, b"other")
        await keys.create(connection, A_KEY, BY, random_bytes=source)
        assert await tenants.count_keys(connection) == 2


@pytest.mark.parametrize("failures", [(b"same",) * 3, (OSError("no entropy"),) * 3])
async def test_seed000_2_1_after_three_attempts_it_fails(
    database: Database, failures: tuple[bytes | OSError, ...]
) -> None:
    async with database.write() as connection:
        await keys.create(connection, A_KEY, BY, random_bytes=sequence(b"same"))
    with pytest.raises(Problem, match="No API key could be generated in 3 attempts") as problem:
        async with database.write() as connection:
            await keys.create(connection, NewKey(email="b@example.com"), BY, random_bytes=sequence(*failures))
    assert problem.value.kind is INTERNAL_ERROR
    async with database.read() as connection:
        assert set(await connection.scalars(select(tables.tenants.c.email))) == {"public", "a@example.com"}


async def test_the_listing_goes_page_by_page(database: Database) -> None:
    made = [(await created(database)).key for _ in range(5)]
    await created(database, "b@example.com")
    seen: list[Key] = []
    cursor = None
    async with database.read() as connection:
        for _ in range(3):
            page = await keys.list_page(connection, email="A@example.com", cursor=cursor, limit=2)
            seen += page.keys
            cursor = page.cursor
        assert len((await keys.list_page(connection)).keys) == 6
    assert seen == made[::-1]
    assert cursor is None


@pytest.mark.parametrize("wrong", [{"cursor": "x"}, {"cursor": "\x00" * 26}, {"limit": 0}, {"limit": 101}])
async def test_a_page_that_cannot_be(database: Database, wrong: dict[str, Any]) -> None:
    with pytest.raises(Problem) as problem:
        async with database.read() as connection:
            await keys.list_page(connection, **wrong)
    assert problem.value.kind is VALIDATION_ERROR


async def test_disabling(database: Database) -> None:
    new = await created(database)
    for now in (NOW + 1, NOW + 2):
        async with database.write() as connection:
            key = await keys.disable(connection, new.key.id, BY, reason="lost", now=now)
        assert (key.disabled_at, key.disabled_reason) == (NOW + 1, "lost")
    log = await log_of(database, new.key)
    assert [(event.action, event.detail) for event in log] == [
        (Action.KEY_DISABLED, "lost"),
        (Action.KEY_CREATED, ""),
    ]


async def test_rotation(database: Database) -> None:
    old = await created(database, tier=Tier.FREE)
    async with database.write() as connection:
        rotation = await keys.rotate(connection, old.key.id, BY, now=NOW + 1)
    new, before, after = rotation.new, old.key, rotation.new.key
    assert new.secret.startswith("sk_test_")
    assert new.secret != old.secret
    assert after.rotated_from == before.id
    assert (after.tenant_id, after.role, after.tier, after.label) == (
        before.tenant_id,
        before.role,
        before.tier,
        before.label,
    )
    assert await found(database, old.secret) == rotation.old
    assert (rotation.old.disabled_at, rotation.old.disabled_reason) == (NOW + 1, "rotated")
    assert [event.action for event in await log_of(database, before)] == [
        Action.KEY_ROTATED,
        Action.KEY_CREATED,
    ]
    assert [event.action for event in await log_of(database, after)] == [Action.KEY_CREATED]


async def test_a_rotation_that_fails_leaves_the_old_key_in_use(database: Database) -> None:
    async with database.write() as connection:
        source = sequence(b"same")
        old = await keys.create(connection, A_KEY, BY, random_bytes=source)
    with pytest.raises(Problem):
        async with database.write() as connection:
            await keys.rotate(connection, old.key.id, BY, random_bytes=sequence(*[b"same"] * 3))
    assert await found(database, old.secret) == old.key


async def test_of_many_who_rotate_at_once_one_does(database: Database) -> None:
    old = await created(database)

    async def rotate() -> Rotation:
        async with database.write() as connection:
            return await keys.rotate(connection, old.key.id, BY)

    answers = await asyncio.gather(*(rotate() for _ in range(10)), return_exceptions=True)
    assert sum(isinstance(answer, Rotation) for answer in answers) == 1
    refused = [answer for answer in answers if isinstance(answer, Problem)]
    assert [problem.kind for problem in refused] == [UNPROCESSABLE_ENTITY] * 9


@pytest.mark.parametrize("key_id", ["0" * 26, "", "x", "\x00" * 26, "'; --"])
async def test_an_unknown_key(database: Database, key_id: str) -> None:
    changes: tuple[Any, ...] = (keys.disable, keys.rotate)
    for change in changes:
        with pytest.raises(Problem) as problem:
            async with database.write() as connection:
                await change(connection, key_id, BY)
        assert problem.value.kind is NOT_FOUND


@pytest.mark.parametrize(
    ("secret", "prefix"),
    [
        ("sk_live_0123456789abcdefghijklmnopqrstuv", "sk_live_0123456..."),
        ("correct-horse-16", "corr..."),
        ("x" * 255, "xxxxxxxxxxxxxxx..."),
    ],
)
async def test_registering_a_given_secret(database: Database, secret: str, prefix: str) -> None:
    for _ in range(2):
        async with database.write() as connection:
            key = await keys.register(connection, secret, A_KEY, BY)
    assert key.prefix == prefix
    assert await found(database, secret) == key
    assert [event.action for event in await log_of(database, key)] == [Action.KEY_REGISTERED]


@pytest.mark.parametrize(
    "secret", ["", "x" * 7, "x" * 256, "with a space here", "ümlautümlautümlaut", "x" * 20 + "\n"]
)
async def test_a_secret_that_cannot_be_used(database: Database, secret: str) -> None:
    with pytest.raises(Problem) as problem:
        async with database.write() as connection:
            await keys.register(connection, secret, A_KEY, BY)
    assert problem.value.kind is UNPROCESSABLE_ENTITY
    assert secret not in problem.value.detail or secret == ""


@pytest.mark.parametrize("given", [None, "a-secret-of-the-operator"])
async def test_the_first_start_makes_one_admin_key(database: Database, given: str | None) -> None:
    first = await asyncio.gather(*(keys.bootstrap(database, given) for _ in range(8)))
    made = [new for new in first if new is not None]
    assert len(made) == 1
    assert (made[0].key.role, made[0].key.email) == (Role.ADMIN, "admin@localhost")
    assert await found(database, given or made[0].secret) == made[0].key
    assert await keys.bootstrap(database, "another-secret-of-theirs") is None
    async with database.read() as connection:
        assert await tenants.count_keys(connection) == 1


async def test_where_there_are_keys_nothing_is_bootstrapped(database: Database) -> None:
    await created(database)
    assert await keys.bootstrap(database) is None
    async with database.read() as connection:
        assert set(await connection.scalars(select(tables.tenants.c.email))) == {"public", "a@example.com"}


async def test_p5_creating_and_remembering_are_one_transaction(database: Database) -> None:
    scope, asked = tenants.key_hash("scope"), tenants.key_hash("asked")

    async def create_once() -> bytes:
        try:
            async with database.write() as connection:
                new = await keys.create(connection, A_KEY, BY)
                await once.remember(connection, scope, asked, new.key.id.encode(), 60)
                return new.key.id.encode()
        except once.AlreadyDone as done:
            return done.answer

    answers = await asyncio.gather(*(create_once() for _ in range(20)))
    assert len(set(answers)) == 1
    async with database.read() as connection:
        assert await tenants.count_keys(connection) == 1
