"""Turns for browsers: who waits, and who has stopped waiting."""

import asyncio

import pytest

from gossamer.reach.browser.turns import BrowserTurns


async def test_a_caller_who_was_just_cancelled_is_passed_over() -> None:
    turns = BrowserTurns(1, 10)
    await turns.take("a")
    leaving, staying = (asyncio.create_task(turns.take(caller)) for caller in ("b", "c"))
    await asyncio.sleep(0)
    leaving.cancel()
    turns.give_back()  # before the task has heard of it
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await staying
    turns.give_back()
    assert (turns.busy, turns.waiting) == (0, 0)
