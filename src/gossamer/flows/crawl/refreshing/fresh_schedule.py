"""The schedule of a crawl that is kept fresh. It comes and goes with the option, in the same transaction."""

from typing import Final

from gossamer import problems
from gossamer.flows.schedules.makers import maker_of
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quotas
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.problems import Problem, validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules import schedules
from gossamer.state.schedules.schedules import NewSchedule
from gossamer.state.tenants.activity import Via
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.schedules.schedule_words import ScheduleKind
from gossamer.web.schedules.timing import Timing

EVERY: Final = "10m"  # how often due pages are looked for


def check_refresh(caller: Caller, spec: CrawlSpec, *, is_private: bool) -> None:
    """Raises `Problem` for a crawl that cannot be kept fresh, or not for this caller."""
    if not spec.keeps_fresh:
        return
    if caller.via is Via.WALLET:
        raise Problem(
            problems.FORBIDDEN,
            "A payment is for the pages of one crawl, not for keeping them fresh.",
            hint="Use a key, or leave `refresh` out.",
        )
    if is_private:
        raise validation_error(
            "A crawl that sends credentials cannot be kept fresh: they are forgotten when it is done.",
            hint="Leave `refresh` out, and start the crawl again by a schedule.",
            details={"field": "refresh"},
        )
    if spec.refresh_least > spec.refresh_most:
        raise validation_error(
            "`refreshLeast` is more than `refreshMost`.", details={"field": "refreshLeast"}
        )


async def add(connection: AsyncConnection, quotas: Quotas, caller: Caller, crawl_id: str) -> None:
    """Unless it has one. Raises `Problem` if the tenant has as many schedules as it may."""
    if await schedules.of_subject(connection, ScheduleKind.RECRAWL, crawl_id) is not None:
        return
    await quotas.reserve_schedule(connection, caller)
    new = NewSchedule(
        tenant_id=caller.tenant_id,
        owner=owner_of(caller),
        kind=ScheduleKind.RECRAWL,
        timing=Timing(every=EVERY),
        maker=maker_of(caller),
        subject=crawl_id,
    )
    await schedules.add(connection, new)


async def remove(connection: AsyncConnection, crawl_id: str) -> None:
    await schedules.remove_of_subject(connection, ScheduleKind.RECRAWL, crawl_id)
