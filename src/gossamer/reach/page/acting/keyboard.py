"""Presses keys in a page, as a keyboard would."""

from collections.abc import Mapping
from typing import Any, Final

from gossamer.reach.browser.cdp import CdpSession
from gossamer.web.render.actions import KeyName

# For each key: its code, its number on Windows, which pages know as `keyCode`, and the text that it enters.
_KEYS: Final[Mapping[KeyName, tuple[str, int, str]]] = {
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, ""),
    "Escape": ("Escape", 27, ""),
    "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""),
    "Space": ("Space", 32, " "),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
}
_OF_CHARACTERS: Final[Mapping[str, KeyName]] = {"\n": "Enter", "\r": "Enter", "\t": "Tab", " ": "Space"}


async def press(session: CdpSession, key: str, deadline: float) -> None:
    """Press a key and let it go: a name, or a character."""
    event = _event(_OF_CHARACTERS.get(key, key))
    down = "keyDown" if "text" in event else "rawKeyDown"
    await session.tell("Input.dispatchKeyEvent", deadline, type=down, **event)
    event.pop("text", None)
    await session.tell("Input.dispatchKeyEvent", deadline, type="keyUp", **event)


def _event(key: str) -> dict[str, Any]:
    known = _KEYS.get(key)  # type: ignore[call-overload]  # most keys are characters, without a name
    if known is not None:
        code, number, text = known
        event = {"key": text if key == "Space" else key, "code": code, "windowsVirtualKeyCode": number}
        return event | ({"text": text} if text else {})
    event = {"key": key, "text": key}
    if key.isascii() and key.isalnum():
        kind = "Digit" if key.isdigit() else "Key"
        event |= {"code": f"{kind}{key.upper()}", "windowsVirtualKeyCode": ord(key.upper())}
    return event
