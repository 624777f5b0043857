"""Browse: a page by a browser, here and now; every visit counts as one render of its caller's tenant."""

from dataclasses import dataclass

from gossamer.flows.admit import Caller
from gossamer.flows.serve import LimitReached, limit_name
from gossamer.problems import Problem
from gossamer.reach.browser import Browsers
from gossamer.reach.visit import Rendered, Visit
from gossamer.state.limits import Limits


@dataclass(frozen=True, slots=True)
class Browsing:
    browsers: Browsers
    limits: Limits

    async def visit(self, visit: Visit, caller: Caller) -> Rendered:
        """What came of it; a visit that could not be made is given back."""
        standing = (await self.limits.take([(limit_name(caller.tier), caller.tenant_id)]))[0]
        if not standing.tally.allowed:
            raise LimitReached(standing)
        try:
            return await self.browsers.visit(visit)
        except Problem:
            await self.limits.give_back(standing)
            raise
