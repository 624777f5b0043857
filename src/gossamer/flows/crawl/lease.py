"""A leased host: the lease as this process sees it, and how the host is doing."""

import asyncio

from msgspec import Struct, field

from gossamer.flows.crawl.politeness.pace import HostPace
from gossamer.state.crawl.hosts import LEASE_MS, HostLease, Release


class HeldHost(Struct, eq=False):
    lease: HostLease
    since: float  # on the event loop's clock, before the database was asked
    began: float
    pace: HostPace
    renders: bool  # its pages are empty without JavaScript
    delay: float | None = None  # of the last crawl
    tenant: str = ""  # of the last crawl
    resting: float = 0.0  # until then, on the event loop's clock
    leave: bool = False  # another worker should have it
    released: bool = False
    lost: bool = False
    waiting: dict[int, int] = field(default_factory=dict)  # keys of URLs in results that wait; their depths

    @classmethod
    def new(cls, lease: HostLease, since: float, usual_delay: float) -> "HeldHost":
        pace = HostPace(usual=usual_delay, failures=lease.failures, now=since)
        held = cls(lease, since, since, pace, lease.renders)
        pace.next_at += max(0.0, (lease.next_at - held.moment(since)) / 1000)
        return held

    @property
    def host(self) -> str:
        return self.lease.host

    @property
    def until(self) -> float:
        return self.since + LEASE_MS / 1000

    def renew(self, lease: HostLease, since: float) -> None:
        self.lease, self.since = lease, since

    def holds(self) -> bool:
        """Ask this right before each request: the process may have been frozen meanwhile."""
        self.lost = self.lost or asyncio.get_running_loop().time() >= self.until
        return not self.lost

    def moment(self, when: float) -> int:
        """A time of the event loop's clock on the database's clock, in milliseconds."""
        return self.lease.until + int((when - self.until) * 1000)

    def release(self) -> Release:
        """The release that would give it back now."""
        resting_until = self.moment(self.resting) if self.resting else 0
        return Release(self.lease, self.moment(self.pace.next_at), resting_until)

    def now(self) -> int:
        return self.moment(asyncio.get_running_loop().time())
