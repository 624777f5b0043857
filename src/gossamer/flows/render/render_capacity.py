"""Whether any process can render, and the health of the browsers of this one."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gossamer.flows.upkeep.health import Shortfall
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.browser.launcher import NoBrowser
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats
from gossamer.state.render import renders


class RenderCapacity(Struct, frozen=True):
    """This process can render if it has a Chromium; workers report in their heartbeats whether they can."""

    browsers: Browsers
    database: Database

    async def demand(self) -> None:
        """Raises NoBrowser if no process can render, so that no job is queued that no process will run."""
        if not self.browsers.has_browser and not await self._workers():
            raise NoBrowser

    async def health(self) -> Mapping[str, Any] | Shortfall:
        """The health of the browsers. A layer that is not in force is a shortfall, with the reason."""
        try:
            await self.browsers.ping()
        except NoBrowser:
            if workers := await self._workers():
                return {"workers": workers}  # none here; this many workers elsewhere have one
            raise
        fence = self.browsers.fence
        details: dict[str, Any] = {"missingScripts": list(await self.browsers.missing_scripts())}
        if fence is None:
            return {"layers": ["proxy"], **details}
        details |= {"fence": fence.policy, "layers": ["proxy", *fence.in_force]}
        if not fence.missing:
            return details
        return Shortfall(
            f"not in force: {', '.join(fence.missing)}", {**details, "missingLayers": dict(fence.missing)}
        )

    async def _workers(self) -> int:
        async with self.database.read() as connection:
            alive = await heartbeats.alive(connection)
        return sum(renders.KIND in worker.kinds for worker in alive)
