"""The limits of tenants that are in force, by the tiers of their keys, and how much of them is used."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.flows.tenants.admit import Caller
from gossamer.state.tenants.limits import Limits
from gossamer.state.tenants.tenant_rows import CountedTenant
from gossamer.state.tenants.tenants import Role, Tier

_TIERS: Final = tuple(Tier)


class LimitInForce(msgspec.Struct, frozen=True, rename="camel"):
    """A limit, and how much of it is used."""

    policy: str
    subject: Annotated[str, Meta(description="The unit that it counts by, such as `tenant`.")]
    limit: int
    window: Annotated[int, Meta(description="The length of the sliding window, in seconds.")]
    used: Annotated[int | None, Meta(description="`null` if it is counted for each key by itself.")]


class TierInUse(msgspec.Struct, frozen=True, rename="camel"):
    """A tier that a tenant has keys of, or has rendered with as a person."""

    tier: str
    keys: Annotated[int, Meta(description="Keys of this tier that are accepted.")]
    limits: list[LimitInForce]


class TenantLimits(Struct, frozen=True):
    limits: Limits

    async def look(self, found: Sequence[CountedTenant]) -> list[list[TierInUse]]:
        """The tiers of each of these tenants. All counts are asked for at once, and none is changed."""
        asks = [_caller(one.tenant.id, tier).renders for one in found for tier in _TIERS]
        used = iter([status.tally.used for status in await self.limits.take(asks, cost=0)] if asks else [])
        return [
            [
                TierInUse(tier.value, keys, self._of_tier(one.tenant.id, tier, renders))
                for tier in _TIERS
                for keys, renders in [(one.counts.tiers.get(tier, 0), next(used))]
                if keys or renders
            ]
            for one in found
        ]

    def _of_tier(self, tenant: str, tier: Tier, renders: int) -> list[LimitInForce]:
        caller = _caller(tenant, tier)
        each_key = [self._in_force(name, None) for name, _ in (caller.work, caller.hits, caller.control)]
        return [self._in_force(caller.renders[0], renders), *each_key]

    def _in_force(self, name: str, used: int | None) -> LimitInForce:
        policy = self.limits.table[name]
        return LimitInForce(name, policy.subject, policy.rate.limit, policy.rate.seconds, used)


def _caller(tenant: str, tier: Tier) -> Caller:
    return Caller(Role.USER, tenant_id=tenant, tier=tier)
