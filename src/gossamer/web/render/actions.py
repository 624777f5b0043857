"""Actions: the steps that a browser takes on a page before the page is read or captured, and their reports.

A step that fails ends the request with `ACTION_FAILED`, unless it is `optional`: then its report says so, and
the next step follows.
"""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.problems import Problem, validation_error

MAX_ACTIONS: Final = 50
MAX_SCREENSHOTS: Final = 10
MAX_WAIT: Final = 30_000  # milliseconds
MAX_TYPED_CHARS: Final = 2_000
MAX_SCRIPT_CHARS: Final = 50_000
MAX_RESULT_CHARS: Final = 100_000  # of JSON
MAX_RESULTS_CHARS: Final = 1_000_000  # of all of one visit
MAX_SCREENSHOT_BYTES: Final = 4_000_000  # of all of one visit

KeyName = Literal[
    "Enter",
    "Tab",
    "Escape",
    "Backspace",
    "Delete",
    "Space",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "Home",
    "End",
    "PageUp",
    "PageDown",
]
Direction = Literal["up", "down", "left", "right"]
ElementSelector = Annotated[
    str, Meta(min_length=1, max_length=500, description="A CSS selector; its first match counts.")
]


class BrowserAction(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, tag_field="type"
):
    """What every step has."""

    optional: Annotated[bool, Meta(description="If the step fails, go on with the next one.")] = False
    timeout: Annotated[
        int,
        Meta(ge=1, le=MAX_WAIT, description="Milliseconds for the step, within those of the request."),
    ] = 5_000

    @property
    def selector_given(self) -> str:
        """The CSS selector of the step; empty for none."""
        return getattr(self, "selector", UNSET) or ""


class WaitAction(BrowserAction, frozen=True, kw_only=True, tag="wait"):
    """Wait for some time, or until an element matches."""

    milliseconds: Annotated[int, Meta(ge=1, le=MAX_WAIT)] | UnsetType = UNSET
    selector: ElementSelector | UnsetType = UNSET


class ClickAction(BrowserAction, frozen=True, kw_only=True, tag="click"):
    """Click on an element as soon as it can be seen. If that leads to another page, wait for it."""

    selector: ElementSelector


class TypeAction(BrowserAction, frozen=True, kw_only=True, tag="type"):
    """Type a text at the end of a field, or where the focus is. A line feed is the key Enter."""

    text: Annotated[str, Meta(max_length=MAX_TYPED_CHARS)]
    selector: ElementSelector | UnsetType = UNSET


class PressAction(BrowserAction, frozen=True, kw_only=True, tag="press"):
    """Press a key, where the focus is."""

    key: Annotated[
        str, Meta(min_length=1, max_length=20, description="One character, or the name of a key: `Enter`.")
    ]


class ScrollAction(BrowserAction, frozen=True, kw_only=True, tag="scroll"):
    """Scroll the page. With a selector alone, bring the element into view; with both, scroll inside of it."""

    direction: Direction | UnsetType = UNSET
    amount: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | UnsetType,
        Meta(description="Pixels. By default as much as can be seen at once."),
    ] = UNSET
    selector: ElementSelector | UnsetType = UNSET


class SelectAction(BrowserAction, frozen=True, kw_only=True, tag="select"):
    """Choose an option of a `select` element."""

    selector: ElementSelector
    value: Annotated[str, Meta(max_length=500, description="The value of the option, or its text.")]


class ScreenshotAction(BrowserAction, frozen=True, kw_only=True, tag="screenshot"):
    """Take a picture of the page as it is now, as PNG in the report."""

    full_page: Annotated[bool, Meta(description="All of the page, not only what fits the window.")] = False


class EvaluateAction(BrowserAction, frozen=True, kw_only=True, tag="evaluate"):
    """Run a script in the page, as the page's own scripts run. Its value, awaited, is the result."""

    script: Annotated[str, Meta(min_length=1, max_length=MAX_SCRIPT_CHARS)]


PageAction = (
    WaitAction
    | ClickAction
    | TypeAction
    | PressAction
    | ScrollAction
    | SelectAction
    | ScreenshotAction
    | EvaluateAction
)
ActionType = Literal["wait", "click", "type", "press", "scroll", "select", "screenshot", "evaluate"]
Actions = Annotated[
    tuple[PageAction, ...],
    Meta(
        max_length=MAX_ACTIONS,
        description="Steps that a browser takes, one after the other, before the page is taken.",
    ),
]


def type_of(action: PageAction) -> ActionType:
    name: ActionType = action.__struct_config__.tag  # type: ignore[assignment]
    return name


class ActionFault(StrEnum):
    """Why a step failed."""

    ELEMENT_NOT_FOUND = "element_not_found"
    ELEMENT_HIDDEN = "element_hidden"  # it has no size, or is not shown
    ELEMENT_COVERED = "element_covered"  # another element would be clicked instead
    NOT_EDITABLE = "not_editable"
    NOT_A_SELECT = "not_a_select"
    OPTION_NOT_FOUND = "option_not_found"
    NAVIGATION_FAILED = "navigation_failed"  # the step led to a page that could not be had
    SCRIPT_ERROR = "script_error"
    RESULT_NOT_JSON = "result_not_json"
    RESULT_TOO_LARGE = "result_too_large"
    SCREENSHOT_TOO_LARGE = "screenshot_too_large"
    DOCUMENT_REPLACED = "document_replaced"  # the page went on to another document during the step
    TIMEOUT = "timeout"


class ActionError(Struct, frozen=True):
    """Why a step failed, for programs and for people."""

    code: ActionFault
    message: str


class ActionReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one step."""

    type: ActionType
    ok: bool
    elapsed_ms: int
    error: ActionError | UnsetType = UNSET
    result: Annotated[Any, Meta(description="Of `evaluate`: its value. Absent if it has none.")] = UNSET
    screenshot: Annotated[bytes | UnsetType, Meta(description="Of `screenshot`: a PNG, as base64.")] = UNSET


def check_actions(actions: tuple[PageAction, ...]) -> None:
    """Raise `Problem` for steps that no browser could take."""
    for number, action in enumerate(actions):
        fault = _fault_in(action)
        if fault:
            raise _invalid_action(number, fault)
    if sum(isinstance(action, ScreenshotAction) for action in actions) > MAX_SCREENSHOTS:
        raise validation_error(
            f"There are more than {MAX_SCREENSHOTS} screenshots - at `$.actions`.",
            hint="Take fewer of them, or ask /screenshot for the last one.",
        )


def _fault_in(action: PageAction) -> str:
    match action:
        case WaitAction():
            if bool(action.milliseconds) == bool(action.selector):
                return "A wait has either `milliseconds` or a `selector`"
        case ScrollAction():
            if not action.direction and (action.amount or not action.selector):
                return "A scroll has a `direction` or a `selector`"
        case PressAction():
            if len(action.key) > 1 and action.key not in get_args(KeyName):
                return f"There is no key {action.key!r}"
    return ""


def _invalid_action(number: int, fault: str) -> Problem:
    return validation_error(
        f"{fault} - at `$.actions[{number}]`.", hint=f"Keys: {', '.join(get_args(KeyName))}."
    )
