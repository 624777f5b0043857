"""Prepares a tab for its visit: what must be right before the target is asked for anything."""

from collections.abc import Coroutine
from typing import Any

import msgspec

from gossamer.problems import INVALID_SELECTOR, Problem, validation_error
from gossamer.reach.browser.cdp import NOTHING, CdpRefused, CdpSession
from gossamer.reach.page import cookie_jar, screenshot
from gossamer.reach.page.tab import Tab
from gossamer.reach.page.visit import Screenshot, Visit


class _Selected(msgspec.Struct, rename="camel"):
    exception_details: msgspec.Raw = NOTHING


def prepare(tab: Tab, visit: Visit, deadline: float) -> list[Coroutine[Any, Any, None]]:
    """The commands to run before navigation. They raise `Problem` for what the browser does not take."""
    shot = visit.capture if isinstance(visit.capture, Screenshot) else None
    selectors = [visit.wait_for, shot.selector if shot else None]
    selectors += [action.selector_given for action in visit.actions]
    commands = [
        _check_selector(tab.session, selector, deadline) for selector in dict.fromkeys(selectors) if selector
    ]
    if shot is not None:
        commands += screenshot.prepare(tab, shot, deadline)
    if visit.cookies:
        commands.append(cookie_jar.put_in(tab.session, visit.cookies, visit.url, deadline))
    if visit.visitor.timezone:
        commands.append(_set_timezone(tab.session, visit.visitor.timezone, deadline))
    return commands


async def _check_selector(session: CdpSession, selector: str, deadline: float) -> None:
    """Check the selector on an empty page."""
    literal = msgspec.json.encode(selector).decode()
    expression = f"document.createDocumentFragment().querySelector({literal})"
    answer = await session.ask(_Selected, "Runtime.evaluate", deadline, expression=expression)
    if answer.exception_details is not NOTHING:
        raise Problem(
            INVALID_SELECTOR,
            f"{selector[:200]!r} is not a CSS selector",
            details={"selector": selector[:200]},
        )


async def _set_timezone(session: CdpSession, name: str, deadline: float) -> None:
    try:
        await session.tell("Emulation.setTimezoneOverride", deadline, timezoneId=name)
    except CdpRefused:
        raise validation_error(
            f"There is no time zone {name!r} - at `$.timezone`.",
            hint="Give its IANA name: Europe/Zurich.",
        ) from None
