"""What steps may be, as they are decoded."""

import msgspec
import pytest

from gossamer.problems import Problem
from gossamer.web.render.actions import PageAction, check_actions, type_of


def decode(text: str) -> tuple[PageAction, ...]:
    return msgspec.json.decode(text, type=tuple[PageAction, ...])


def test_a_step_is_known_by_its_type() -> None:
    names = ("wait", "click", "type", "press", "scroll", "select", "screenshot", "evaluate")
    rest: dict[str, dict[str, object]] = {
        "wait": {"milliseconds": 5},
        "click": {"selector": "a"},
        "type": {"text": "x"},
        "press": {"key": "Enter"},
        "scroll": {"direction": "down"},
        "select": {"selector": "a", "value": "b"},
        "screenshot": {},
        "evaluate": {"script": "1"},
    }
    steps = msgspec.convert([{"type": name, **rest[name]} for name in names], tuple[PageAction, ...])
    check_actions(steps)
    assert tuple(map(type_of, steps)) == names


@pytest.mark.parametrize(
    "text",
    [
        '[{"type": "wait"}]',
        '[{"type": "wait", "milliseconds": 1, "selector": "a"}]',
        '[{"type": "scroll", "amount": 5}]',
        '[{"type": "scroll", "amount": 5, "selector": "a"}]',
        '[{"type": "press", "key": "enter"}]',
    ],
)
def test_a_step_that_says_too_little_or_too_much_is_refused(text: str) -> None:
    with pytest.raises(Problem, match=r"at `\$\.actions\[0\]`"):
        check_actions(decode(text))
