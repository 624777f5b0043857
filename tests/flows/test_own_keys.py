"""Keys that expire, and keys of one's own tenant: never more rights than the caller has."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gossamer.flows.tenants import keys, own_keys
from gossamer.flows.tenants.admit import Admission, Caller
from gossamer.flows.tenants.keys import IssuedKey, Keys, NewKey, NewOwnKey
from gossamer.flows.tenants.own_keys import OwnKeys
from gossamer.problems import FORBIDDEN, KEY_DISABLED, NOT_FOUND, UNPROCESSABLE_ENTITY, Problem
from gossamer.state.db.database import Database
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.tenants.activity import ActivityFilter, Actor, Via, list_activity
from gossamer.state.tenants.tenants import Key, Role, Tier

NOW = 1_700_000_000_000
BY = Actor("01ADMIN", request_id="wl_1")
EMAIL = "a@example.com"
YEAR = timedelta(days=365)


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def caller_of(key: Key) -> Caller:
    return Caller(key.role, key.id, key.tenant_id, key.tier, key.prefix, Via.KEY)


async def created(database: Database, now: int | None = None, **fields: Any) -> IssuedKey:
    async with database.write() as connection:
        new = NewKey(**{"email": EMAIL, **fields})
        return await keys.create(connection, new, BY, now=now)


@pytest.fixture
def own(database: Database) -> OwnKeys:
    return OwnKeys(Keys(database, Admission(database, MemoryHot())))


async def test_a_key_ends_in_the_future_or_not_at_all(database: Database) -> None:
    assert (await created(database, NOW, expires_at=at(NOW + 1))).key.expires_at == NOW + 1
    assert (await created(database, NOW)).key.expires_at is None
    for past in (NOW, NOW - 1, -1):
        with pytest.raises(Problem, match="in the past") as refused:
            await created(database, NOW, expires_at=at(past))
        assert refused.value.kind is UNPROCESSABLE_ENTITY


async def test_a_rotated_key_ends_with_the_old_one_and_not_after_it(database: Database) -> None:
    old = await created(database, NOW, expires_at=at(NOW + 10))
    async with database.write() as connection:
        rotated = await keys.rotate(connection, old.key.id, BY, now=NOW + 9)
        assert rotated.new.key.expires_at == NOW + 10
        with pytest.raises(Problem, match="has expired and cannot be rotated"):
            await keys.rotate(connection, rotated.new.key.id, BY, now=NOW + 10)


async def test_an_expired_key_is_refused_although_it_was_looked_up_before(database: Database) -> None:
    end = datetime(2100, 1, 1, tzinfo=UTC)
    now = end.timestamp() - 1
    issued = await created(database, expires_at=end)
    admission = Admission(database, MemoryHot(), lambda: now)
    assert (await admission.identify(issued.secret)).key_id == issued.key.id
    assert await admission.look_up(issued.key.hash) is not None
    now += 1
    with pytest.raises(Problem, match="has expired") as refused:
        await admission.identify(issued.secret)
    assert (refused.value.kind, refused.value.reason) == (KEY_DISABLED, "expired")
    assert await admission.look_up(issued.key.hash) is None


async def test_an_own_key_has_the_callers_tenant_and_tier_and_is_a_users(
    database: Database, own: OwnKeys
) -> None:
    admin = await created(database, role="admin", tier=Tier.ENTERPRISE)
    owner = caller_of(admin.key)
    async with own.creating(NewOwnKey(label="mine"), owner, BY) as (_, issued):
        pass
    key = issued.key
    assert (key.tenant_id, key.email, key.label) == (admin.key.tenant_id, EMAIL, "mine")
    assert (key.role, key.tier, key.expires_at) == (Role.USER, Tier.ENTERPRISE, None)
    page = await own.list_page(owner, cursor=None, limit=50)
    assert page.keys == [key, admin.key]
    async with database.read() as connection:
        (entry,) = await list_activity(connection, ActivityFilter(subject=key.id))
    assert (entry.action.value, entry.actor) == ("key.created", BY)


async def test_an_own_key_lasts_no_longer_than_the_one_that_creates_it(database: Database) -> None:
    used = await created(database, NOW, expires_at=at(NOW + 10))
    owner = caller_of(used.key)
    async with database.write() as connection:
        bare = await own_keys.create(connection, NewOwnKey(), owner, BY, now=NOW)
        earlier = await own_keys.create(connection, NewOwnKey(expires_at=at(NOW + 9)), owner, BY, now=NOW)
        assert (bare.key.expires_at, earlier.key.expires_at) == (NOW + 10, NOW + 9)
        with pytest.raises(Problem, match="last longer") as refused:
            await own_keys.create(connection, NewOwnKey(expires_at=at(NOW + 11)), owner, BY, now=NOW)
        assert refused.value.kind is UNPROCESSABLE_ENTITY


async def test_keys_of_another_tenant_are_not_found(database: Database, own: OwnKeys) -> None:
    owner = caller_of((await created(database)).key)
    other = (await created(database, email="b@example.com")).key
    for key_id in (other.id, "nothing"):
        with pytest.raises(Problem) as refused:
            await own.disable(key_id, owner, BY)
        assert refused.value.kind is NOT_FOUND
        with pytest.raises(Problem) as refused:
            async with own.rotating(key_id, owner, BY):
                pytest.fail("it was rotated")
        assert refused.value.kind is NOT_FOUND
    assert other.id not in {key.id for key in (await own.list_page(owner, cursor=None, limit=50)).keys}


@pytest.mark.parametrize(
    "more",
    [{"role": "admin"}, {"tier": Tier.ENTERPRISE}, {"expires_at": None}],
    ids=["role", "tier", "time"],
)
async def test_a_key_with_more_rights_is_neither_rotated_nor_disabled(
    database: Database, own: OwnKeys, more: dict[str, Any]
) -> None:
    end = datetime.now(UTC) + YEAR
    used = await created(database, expires_at=end)
    stronger = await created(database, **{"expires_at": end, **more})
    owner = caller_of(used.key)
    with pytest.raises(Problem, match="more rights") as refused:
        async with own.rotating(stronger.key.id, owner, BY):
            pytest.fail("it was rotated")
    assert refused.value.kind is FORBIDDEN
    with pytest.raises(Problem, match="more rights"):
        await own.disable(stronger.key.id, owner, BY)
    async with own.rotating(used.key.id, owner, BY) as (_, rotated):  # one's own may be
        pass
    assert (await own.disable(rotated.key.id, owner, BY)).disabled_at is not None
