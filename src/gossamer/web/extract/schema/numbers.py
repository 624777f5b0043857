"""Numbers as pages write them: `$1,299.00`, `1.299,00 €`, `4.5 out of 5`. Ambiguous ones are None."""

import re
from typing import Final

from gossamer.web.html.vocabulary import tags

# Languages that write a comma before decimals.
COMMA_LANGUAGES: Final = tags(
    "af az be bg bs ca cs da de el es et eu fi fr gl hr hu hy id is it ka kk lt lv mk nb nl nn no pl pt "
    "ro ru sk sl sq sr sv tr uk uz vi"
)
_SPACES: Final = "\u00a0\u202f\u2009 '\u2019"
NUMBER: Final = re.compile(rf"[-\u2212+]?\d(?:[\d.,{_SPACES}]*\d)?(?:[eE][+-]?\d{{1,2}}(?!\w))?")
_OUT_OF: Final = re.compile(
    r"^\D*?([.,]?\d[\d.,]*+)\s*+(?:/|out of|of|von|sur|de|su|av|van)\s*+[\d.,]++\D*$", re.I
)
_GROUPED: Final = re.compile(rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}})+")
MAX_NUMBER_CHARS: Final = 200  # of a text with a number


def number(text: str, *, comma: bool | None = None) -> float | int | None:
    """Return the only number in the text. `comma` says whether decimals follow a comma; None stands for
    machine notation, where they follow a dot."""
    text = text.strip()
    if not text or len(text) > MAX_NUMBER_CHARS:
        return None
    scale = _OUT_OF.match(text)
    found = [scale[1]] if scale else _find_numbers(text)
    values = {_value(one, comma) for one in found}
    return values.pop() if len(values) == 1 else None


def _find_numbers(text: str) -> list[str]:
    pieces: list[str] = []
    for match in NUMBER.finditer(text):
        before = text[match.start() - 1] if match.start() else ""
        piece = match[0]
        if before.isalpha() and piece[0].isdigit():
            return []  # `A4`, `mp3`
        if piece[0] in "-\u2212" and before.isdigit():
            piece = piece[1:]  # a range: two numbers
        pieces += [piece] if _is_one(piece) else piece.split()
    return pieces


def _is_one(piece: str) -> bool:
    if not any(space in piece for space in _SPACES):
        return True
    whole = re.split(r"[.,]", piece.lstrip("-\u2212+"))[0]
    return bool(_GROUPED.fullmatch(whole))


def _value(piece: str, comma: bool | None) -> float | int | None:
    digits = re.sub(rf"[{_SPACES}]", "", piece).replace("\u2212", "-")
    text = _with_dot(digits, comma)
    if text is None:
        return None
    value = float(text)
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else value


def _with_dot(text: str, comma: bool | None) -> str | None:
    """Write a number with a dot before decimals and without thousands separators."""
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        mark = max(".,", key=text.rfind)
        other = "," if mark == "." else "."
        if text.count(mark) > 1:
            return None
        return text.replace(other, "").replace(mark, ".")
    mark = "." if dots else ","
    if dots + commas == 0:
        return text
    if dots + commas > 1:  # 1.234.567
        parts = text.lstrip("+-").split(mark)
        grouped = len(parts[-1]) == 3 and len({len(part) for part in parts[1:-1]} | {3}) <= 2
        return text.replace(mark, "") if grouped and all(len(p) in (2, 3) for p in parts[1:]) else None
    thousands = bool(re.fullmatch(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", text))
    if not thousands:
        return text.replace(mark, ".")
    if mark == ",":
        return text.replace(",", "." if comma else "")
    return text.replace(".", "") if comma else text
