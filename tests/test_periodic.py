"""The loop behind everything that is done every few seconds."""

import pytest

from gossamer.concurrency.periodic import every, ignore
from gossamer.problems import Unavailable


class Stopped(Exception):
    """How a test ends a loop that has no end of its own."""


class Steps:
    """Records what the loop does, and ends it when it pauses for the third time."""

    def __init__(self, *outcomes: bool | Exception | None) -> None:
        self.log: list[str | float] = []
        self._outcomes = iter(outcomes)

    async def act(self) -> bool | None:
        self.log.append("act")
        outcome = next(self._outcomes, None)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def sleep(self, seconds: float) -> None:
        self.log.append(seconds)
        if self.log.count(seconds) == 3:
            raise Stopped


async def test_the_pause_comes_first_unless_it_begins_at_once() -> None:
    later, at_once = Steps(), Steps()
    with pytest.raises(Stopped):
        await every(5.0, later.act, sleep=later.sleep)
    with pytest.raises(Stopped):
        await every(5.0, at_once.act, at_once=True, sleep=at_once.sleep)
    assert later.log == [5.0, "act", 5.0, "act", 5.0]
    assert at_once.log == ["act", 5.0, "act", 5.0, "act", 5.0]


async def test_it_ends_when_the_action_says_so() -> None:
    steps = Steps(True, None, False)
    await every(1.0, steps.act, at_once=True, sleep=steps.sleep)
    assert steps.log == ["act", 1.0, "act", 1.0, "act"]


async def test_what_is_away_is_reported_and_asked_again() -> None:
    away = Unavailable("database", "away")
    steps, heard = Steps(away, away), list[Unavailable]()
    with pytest.raises(Stopped):
        await every(1.0, steps.act, at_once=True, on_outage=heard.append, sleep=steps.sleep)
    assert heard == [away, away]
    assert steps.log.count("act") == 3
    ignored = Steps(away, False)
    await every(1.0, ignored.act, at_once=True, on_outage=ignore, sleep=ignored.sleep)
    assert ignored.log == ["act", 1.0, "act"]


@pytest.mark.parametrize("error", [Unavailable("database", "away"), RuntimeError("a defect")])
async def test_what_nobody_hears_of_ends_it(error: Exception) -> None:
    steps = Steps(error)
    with pytest.raises(type(error)):
        await every(1.0, steps.act, sleep=steps.sleep)
    assert steps.log == [1.0, "act"]
