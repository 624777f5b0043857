"""A host that is ours for now: the lease as this process sees it, and how the host is doing."""

import asyncio
from dataclasses import dataclass

from gossamer.flows.crawl.pace import Pace
from gossamer.state.hosts import LEASE_MS, HostLease, Release


@dataclass(slots=True, eq=False)
class Held:
    lease: HostLease
    since: float  # on the event loop's clock, before the database was asked
    began: float
    pace: Pace
    renders: bool  # its pages are empty without JavaScript
    delay: float | None = None  # that the last crawl asked for
    tenant: str = ""  # whose crawl it was
    resting: float = 0.0  # on the event loop's clock: it is left alone until then
    leave: bool = False  # somebody else should have it
    released: bool = False
    lost: bool = False

    @classmethod
    def new(cls, lease: HostLease, since: float, usual_delay: float) -> "Held":
        pace = Pace(usual=usual_delay, failures=lease.failures, now=since)
        held = cls(lease, since, since, pace, lease.renders)
        pace.next_at += max(0.0, (lease.next_at - held.moment(since)) / 1000)
        return held

    @property
    def host(self) -> str:
        return self.lease.host

    @property
    def until(self) -> float:
        return self.since + LEASE_MS / 1000

    def renewed(self, lease: HostLease, since: float) -> None:
        self.lease, self.since = lease, since

    def holds(self) -> bool:
        """To be asked right before anything leaves for the host: we may have been frozen meanwhile."""
        self.lost = self.lost or asyncio.get_running_loop().time() >= self.until
        return not self.lost

    def moment(self, when: float) -> int:
        """A moment of the event loop's clock on the database's, in milliseconds."""
        return self.lease.until + int((when - self.until) * 1000)

    def release(self) -> Release:
        """As it would be given back now."""
        resting_until = self.moment(self.resting) if self.resting else 0
        return Release(self.lease, self.moment(self.pace.next_at), resting_until)

    def now(self) -> int:
        return self.moment(asyncio.get_running_loop().time())
