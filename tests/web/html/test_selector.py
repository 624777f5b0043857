"""Selectors for a browser: what is refused without asking one."""

import pytest

from gossamer import problems
from gossamer.problems import Problem
from gossamer.web.html.tree import check_selector


@pytest.mark.parametrize(
    "selector",
    ["###", "div[", "//div", "$('a')", "a,,b", "text=hi", "a b >", " ", ".w-1/2", "[@click]"],
)
def test_what_no_browser_would_take_is_refused(selector: str) -> None:
    with pytest.raises(Problem) as refused:
        check_selector(selector)
    assert refused.value.kind is problems.INVALID_SELECTOR
    assert refused.value.members["details"]["selector"] == selector


@pytest.mark.parametrize(
    "selector",
    [
        "h1, h2", "#\\31 a", ".w-1\\/2", "a>b~c+d", "my-element", "[a=b i]", "[\\@click]", ".ünï", "*",
        "a:defined", ":scope > a", "dialog:modal", ":popover-open", "a::part(x)", "svg|a", "& a", "a/**/b",
    ],
)  # fmt: skip
def test_what_a_browser_may_know_is_left_to_it(selector: str) -> None:
    check_selector(selector)
