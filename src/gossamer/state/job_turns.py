"""Turns: whose jobs come next, so that nobody waits behind everything that somebody else has queued."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gossamer.state.alone import Rows
from gossamer.state.job import Job


class Turns:
    """Who was served last, of each kind of job.

    Tenants are served in the order of their ids, round and round. Each process keeps its own place."""

    def __init__(self) -> None:
        self._served: dict[str, str] = {}

    def wanted(self, room: Mapping[str, int]) -> list[tuple[str, int, str]]:
        """Kind, how many, and after whom to begin."""
        return [(kind, count, self._served.get(kind, "")) for kind, count in room.items() if count > 0]

    def left(self, wanted: Sequence[tuple[str, int, str]], claimed: Rows) -> list[tuple[str, int, str]]:
        """What is still wanted after this was claimed."""
        got = Counter(row.kind for row in claimed)
        return [(kind, count - got[kind], served) for kind, count, served in wanted if count > got[kind]]

    def serve(self, claimed: Iterable[Job]) -> None:
        by_kind: dict[str, Counter[str]] = {}
        for (kind, tenant), count in Counter((job.kind, job.tenant_id) for job in claimed).items():
            by_kind.setdefault(kind, Counter())[tenant] = count
        for kind, served in by_kind.items():
            most = max(served.values())
            before = self._served.get(kind, "")
            # Of those who had the most turns, the last one on the way round.
            ordered = sorted((tenant <= before, tenant) for tenant in served if served[tenant] == most)
            self._served[kind] = ordered[-1][1]
