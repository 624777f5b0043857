"""Trying rules on two pages: what a monitor would say. Nothing is stored."""

import asyncio
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.flows.monitors.page_looker import PageLooker
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import validation_error
from gossamer.web.monitors.monitor_request import GivenPage, MonitorTrial
from gossamer.web.monitors.monitor_spec import MonitoredPage, MonitorSpec
from gossamer.web.monitors.page_snapshot import PageSnapshot
from gossamer.web.monitors.rules.change_rule import AppearanceRule, check_rules
from gossamer.web.monitors.rules.comparing import ChangeVerdict, SnapshotComparison
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page

NOWHERE: Final = "https://given.example/"


class RuleTrial(Struct, frozen=True):
    """Two snapshots, and what the rules say about them."""

    comparison: SnapshotComparison
    verdict: ChangeVerdict


class RuleTrier(Struct, frozen=True):
    looker: PageLooker

    async def compare(self, trial: MonitorTrial, caller: Caller) -> RuleTrial:
        """Raises `Problem` for rules that cannot be used, and for a page that cannot be read."""
        check_rules(trial.rules)
        if any(isinstance(rule, AppearanceRule) for rule in trial.rules):
            raise validation_error("The appearance of a page cannot be tried: a monitor takes its pictures.")
        watch = MonitoredPage(trial.before.url or trial.after.url or NOWHERE)
        spec = MonitorSpec(watch=watch, rules=trial.rules, noise=trial.noise, look=trial.look)
        await self.looker.check(spec)
        old, new = [await self._snapshot(spec, page, caller) for page in (trial.before, trial.after)]
        old = replace(old, taken_at=new.taken_at - trial.seconds_apart)
        comparison = SnapshotComparison(old, new, trial.noise)
        return RuleTrial(comparison, await asyncio.to_thread(comparison.judge, spec.rules))

    async def _snapshot(self, spec: MonitorSpec, given: GivenPage, caller: Caller) -> PageSnapshot:
        given.check()
        if given.url:
            return (await self.looker.look(spec, given.url, caller)).snapshot
        if given.text:
            return PageSnapshot(
                url=NOWHERE,
                taken_at=self.looker.clock(),
                status=200,
                outcome=Outcome.OK,
                text="\n".join(line.strip() for line in given.text.splitlines() if line.strip()),
            )
        page = Page(
            url=NOWHERE,
            final_url=NOWHERE,
            status=200,
            headers=(),
            body=given.html.encode("utf-8", "replace"),
            media_type="text/html",
            charset="utf-8",
        )
        return await self.looker.read(spec, page)
