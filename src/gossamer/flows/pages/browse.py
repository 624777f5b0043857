"""Browse: visit a page with a browser now; every visit counts as one render of the caller's tenant."""

from typing import Final

from msgspec import Struct

from gossamer.flows.render.serve import LimitReached
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import ACTION_FAILED, FETCH_TIMEOUT, RENDER_FAILED, Problem
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.reach.page.visit import NO_ANSWER, Visit, VisitResult
from gossamer.state.tenants.limits import Limits
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.state.tenants.usage import Usage

RETRY_AFTER: Final = 5  # seconds, before a target that was late is tried again
# Causes that mean that the time was up before the target answered.
_LATE: Final = frozenset(
    {FetchReason.DNS_TIMEOUT, FetchReason.CONNECT_TIMEOUT, FetchReason.TLS_TIMEOUT, NO_ANSWER}
)


class Browsing(Struct, frozen=True):
    browsers: Browsers
    limits: Limits
    usage: Usage

    async def visit(self, visit: Visit, caller: Caller) -> VisitResult:
        """Visit the page. One that failed does not count, unless the caller's own steps are the reason."""
        status = (await self.limits.take([caller.renders]))[0]
        if not status.tally.allowed:
            raise LimitReached(status)
        try:
            rendered = await self.browsers.visit(visit)
        except Problem as problem:
            if problem.kind is not ACTION_FAILED:
                await self.limits.give_back(status)
                raise _translate(problem, visit) from problem
            self._count(caller)
            raise
        self._count(caller)
        return rendered

    def _count(self, caller: Caller) -> None:
        if caller.tenant_id not in ("", PUBLIC):  # the operator's own visits and paid ones are not counted
            self.usage.count(caller.tenant_id, caller.key_id, "render")


def _translate(problem: Problem, visit: Visit) -> Problem:
    """A target that did not answer is a FETCH_TIMEOUT, not a failure of the browser."""
    cause = problem.cause
    if problem.kind is not RENDER_FAILED or cause not in _LATE:
        return problem
    late = f"did not respond within {visit.timeout * 1000:.0f} ms"
    return Problem(
        FETCH_TIMEOUT,
        f"The target {late if cause == NO_ANSWER else f'could not be reached in time ({cause})'}",
        hint="Give a longer timeout, or try again later.",
        headers={"Retry-After": str(RETRY_AFTER)},
        retryAfter=RETRY_AFTER,
        details={"url": visit.url.href, "reason": cause},
    )
