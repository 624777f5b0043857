"""Browse: a page by a browser, here and now; every visit counts as one render of its caller's tenant."""

from dataclasses import dataclass
from typing import Final

from gossamer.flows.admit import Caller
from gossamer.flows.serve import LimitReached, limit_name
from gossamer.problems import FETCH_TIMEOUT, RENDER_FAILED, Problem
from gossamer.reach.browser import Browsers
from gossamer.reach.visit import NO_ANSWER, Rendered, Visit
from gossamer.state.limits import Limits
from gossamer.state.tenants import PUBLIC
from gossamer.state.usage import Usage

PAUSE: Final = 5  # seconds, before a target that was late is tried again
# Where the way to the target ended: time was up while it was looked for, connected to, or waited for.
_LATE: Final = frozenset({"dns", "connect", "tls", NO_ANSWER})


@dataclass(frozen=True, slots=True)
class Browsing:
    browsers: Browsers
    limits: Limits
    usage: Usage

    async def visit(self, visit: Visit, caller: Caller) -> Rendered:
        """What came of it; a visit that could not be made is given back."""
        standing = (await self.limits.take([(limit_name(caller.tier), caller.tenant_id)]))[0]
        if not standing.tally.allowed:
            raise LimitReached(standing)
        try:
            rendered = await self.browsers.visit(visit)
        except Problem as problem:
            await self.limits.give_back(standing)
            raise _told(problem, visit) from problem
        if caller.tenant_id not in ("", PUBLIC):  # theirs whose machine it is, or paid for one by one
            self.usage.count(caller.tenant_id, caller.key_id, "render")
        return rendered


def _told(problem: Problem, visit: Visit) -> Problem:
    """A target that did not answer is told as that, and not as a failure of the browser's."""
    cause = (problem.members.get("details") or {}).get("cause")
    if problem.kind is not RENDER_FAILED or cause not in _LATE:
        return problem
    late = f"did not respond within {visit.timeout * 1000:.0f} ms"
    return Problem(
        FETCH_TIMEOUT,
        f"The target {late if cause == NO_ANSWER else f'could not be reached in time ({cause})'}",
        hint="Give a longer timeout, or try again later.",
        headers={"Retry-After": str(PAUSE)},
        retryAfter=PAUSE,
        details={"url": visit.url.href, "reason": cause},
    )
