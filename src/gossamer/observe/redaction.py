"""Redaction: removes secrets from log lines, stored errors and events.

A secret is recognised by its name (`password=…`, `"clientSecret": "…"`, `X-Api-Key: …`) or by its shape (our
own keys, JWTs, private keys, credentials in a URL). In doubt, more is hidden rather than less. Every pattern
takes linear time: repetitions are possessive, and no pattern reads the same text twice.
"""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final

REDACTED: Final = "[REDACTED]"
MAX_DEPTH: Final = 64
MAX_NAME_CHARS: Final = 128


def redact(text: str) -> str:
    """`text` with every secret replaced. Applying it twice changes nothing more."""
    if not _suspicious(text):
        return text
    text = _PRIVATE_KEY.sub(REDACTED, text)
    if "://" in text:
        text = _URLS.sub(_without_userinfo, text)
    text = _TOKEN.sub(REDACTED, text)
    text = _CREDENTIALS.sub(_without_credentials, text)
    return _without_assignments(text)


def redact_values(value: Any) -> Any:
    """The same structure with every secret replaced: values with a secret name, and secrets in any text."""
    return _inner(value, 0)


# Checked first, because nearly all text has nothing to hide. Every rule below needs one of these.
_TRACES: Final = re.compile(
    "pass|pwd|secret|token|key|auth|cookie|credential|sig|sess|otp|cv[cv]|mnemonic|phrase|payment|jwt"
    "|bearer|basic|digest|negotiate|eyj|sk[-_]|-----begin|gh[a-z]_|github|akia|xox|aiza|whsec|cap_"
)


def _suspicious(text: str) -> bool:
    return _TRACES.search(text.lower()) is not None or ("@" in text and "://" in text)


# Secrets by shape.

_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}KEY[A-Z ]{0,10}-----|\Z)"
)
_TOKEN: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk_(?:live|test)_[\w-]{8,}+"  # ours; the public prefix of a key (15 characters) stays
    r"|sk-(?:ant|proj|or|svcacct|admin)-[\w-]{4,}+|sk-[A-Za-z0-9]{20,}+"
    r"|eyJ[\w+/-]{8,}+(?:\.[\w+/-]*+){0,4}+=*+"  # a JWT, or a JSON object in base64, such as an x402 payment
    r"|gh[a-z]_[A-Za-z0-9]{16,}+|github_pat_\w{20,}+|AKIA[A-Z0-9]{12,}+|xox[a-z]-[\w-]{8,}+"
    r"|cap_[0-9A-Z]{26}_[\w-]{8,}+"  # ours: it opens an order
    r"|AIza[\w-]{30,}+|whsec_[\w+/=-]{8,}+)"
)
_CREDENTIALS: Final = re.compile(
    r"(?<!\w)((bearer|basic|digest|negotiate)[ \t]++)(?!(?:bearer|basic|digest|negotiate)\b)"
    r"((?:\[REDACTED\]|[^\s\"'`,;<>(){}\[\]])++)",
    re.IGNORECASE,
)
_SCHEME_WORDS: Final = re.compile(r"(?:tokens?|auth\w*|schemes?|realm|challenge)\W?", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Za-z]?[a-z]+\W?")
_URLS: Final = re.compile(r"://[^\s\"<>]++")
_PASSWORD_WITH_SLASH: Final = re.compile(r"[^/?#@:\[]*+:(?!\d{1,5}(?:[/?#]|$))[^@]*+@")


def _without_credentials(match: re.Match[str]) -> str:
    """Keep English phrases that begin with a scheme: "basic understanding", "bearer token"."""
    may_be_word = match[2].lower() != "bearer" or len(match[3]) < 6  # a bearer token may be all letters
    if _SCHEME_WORDS.fullmatch(match[3]) or (may_be_word and _WORD.fullmatch(match[3])):
        return match[0]
    return match[1] + REDACTED


def _without_userinfo(match: re.Match[str]) -> str:
    """A query may contain further URLs, so each `://` begins one, unless it is part of a password."""
    rest = match[0][3:]
    if _PASSWORD_WITH_SLASH.match(rest):
        return f"://{REDACTED}{rest[rest.rfind('@') :]}"
    return "://" + "://".join(_without_user(part) for part in rest.split("://"))


def _without_user(part: str) -> str:
    authority = re.split("[/?#]", part, maxsplit=1)[0]
    end = authority.rfind("@")
    if ":" in authority[: max(0, end)] or _PASSWORD_WITH_SLASH.match(part, end + 1):
        end = part.rfind("@")  # the password may contain an unescaped @, /, ? or #
    return REDACTED + part[end:] if end >= 0 else part


# Secrets by name.


class _Name(Enum):
    """What a name says about its value."""

    INNOCENT = 0
    COUNTABLE = 1  # secret unless it is a number: `tokens`, `token_budget`
    SECRET = 2
    HEADER = 3  # secret; as a header, up to the end of the line


_STEM: Final = (
    r"(?:pass(?:word|wd|phrase|code)|secret|token|credentials?|mnemonic|seedphrase|(?:api|access|account|admin"
    r"|auth|bootstrap|encryption|master|private|secret|service|session|shared|signing)key)"
)
_SECRET: Final = re.compile(rf".*(?:{_STEM}|signature|sess(?:ion)?id|secretid|cookie|authorization)|xpayment")
_SECRET_LAST: Final = re.compile("o?auth|pwd|sig|t?otp|cv[vc]|jwt")
# Words after a stem that make it harmless: `token_count`, `passwordResetUrl`, `secret_name`.
_NEUTRAL_LAST: Final = re.compile(
    "age|alg|algorithm|at|attempts|banner|count|created|enabled|endpoint|error|expir(?:ation|ed|es|y)|fields?|file"
    "|format|hint|id|in|kind|len|length|limit|names?|path|policy|prefix|present|reason|required|reset|size|state|status"
    "|ttl|type|updated|ur[il]|usage|valid|version"
)
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=4096)
def _meaning(name: str) -> _Name:
    """Judge whole words in any spelling: `db_password`, `clientSecret`, `X-Api-Key`, `APIKEY2`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    letters, last = "".join(words), words[-1] if words else ""
    if letters.endswith(("cookie", "authorization")):
        return _Name.HEADER
    if _SECRET.fullmatch(letters) or _SECRET_LAST.fullmatch(last):
        return _Name.HEADER if "-" in name else _Name.SECRET
    if _SECRET.fullmatch(letters.removesuffix("s")) or last == "pass":
        return _Name.COUNTABLE
    if _NEUTRAL_LAST.fullmatch(last):
        return _Name.INNOCENT
    return _of_stem(words)


def _of_stem(words: list[str]) -> _Name:
    """Judge a name that continues after a stem: `password_confirmation`, `secret_key_base`."""
    stems = [re.search(rf"{_STEM}s?$", "".join(words[:end])) for end in range(1, len(words))]
    found = {stem[0] for stem in stems if stem}
    if found - {"token", "tokens"}:
        return _Name.SECRET
    return _Name.COUNTABLE if found else _Name.INNOCENT


_ASSIGNMENT: Final = re.compile(
    r"(?<![\w.-])(?:(--[\w.-]++)[ \t]++(?=[^\s=:-])"  # --password hunter2
    r"|([\w.-]++)(?:\\{0,8}+[\"'`\]]{0,3}+[ \t]*+(?:[:=]++>?|%3[AaDd])[ \t]*+"  # name=, "name": , name]=
    r"|[\"'],[ \t]*+(?=b?[\"'])))"  # ('name', 'value')
)
_AFTER: Final = r"(?=[\s,;:&)\]}>\"'`\\]|[.!?](?:\s|$)|$)"  # what may follow a closing quote or bracket
_BARE: Final = re.compile(
    r"(?:(?:bearer|basic|digest|negotiate|token)[ \t]++)?"
    rf"(?:\[REDACTED\]|[^\s&,;\"'`)\]}}>]|[\"'`)\]}}>](?!{_AFTER})"
    r"|[&,;](?!\s|$|[\"']?[\w.-]{1,64}+[\"']?[ \t]*+[=:]))++",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|digest|negotiate)[ \t]+(?=\S)", re.IGNORECASE)
_PLAIN: Final = re.compile(r"\w[ \t]*:[ \t]*$")  # `Cookie: …`, not `"Cookie": …` and not `cookie=…`
_LINE: Final = re.compile(r"[^\r\n]*+")
_OPENING: Final = re.compile(r"b?(\\*+)(\"{3}|'{3}|[\"'`])")
_CLOSED: Final = re.compile(_AFTER)
_BRACKETS: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|'(?:[^'\\]|\\.)*+'?|[\[\]{}]", re.DOTALL)
_LITERAL: Final = re.compile("[Tt]rue|[Ff]alse|null|None")
_NUMBERS: Final = re.compile(
    r"[\s\d.,+-]++|\[[\s\d.,+-]*+\]|\{(?:\s*+[\"']?[\w.-]++[\"']?\s*+:\s*+[\d.]++,?)*+\s*+\}"
)


def _without_assignments(text: str) -> str:
    parts: list[str] = []
    done = 0
    match = _ASSIGNMENT.search(text)
    while match:
        at = match.end()
        meaning = _meaning_at(text, match)
        if meaning is not _Name.INNOCENT:
            plain_header = meaning is _Name.HEADER and _PLAIN.search(match[0])
            start, end = _line(text, at) if plain_header else _value(text, at)
            if not _harmless(text[start:end], meaning, quoted=start > at):
                parts += (text[done:start], REDACTED)
                at = done = end
        match = _ASSIGNMENT.search(text, at)
    return "".join((*parts, text[done:]))


def _meaning_at(text: str, match: re.Match[str]) -> _Name:
    name, before = (match[1] or match[2])[-MAX_NAME_CHARS:], text[max(0, match.start() - 2) : match.start()]
    if "," in match[0]:  # a pair in a list of headers or arguments; anywhere else, a list of words
        is_pair = before.endswith(("('", '("', "['", '["', "b'", 'b"')) or name.startswith("--")
        return _meaning(name) if is_pair else _Name.INNOCENT
    if name == "key" and before.endswith(("?", "&")):
        return _Name.SECRET
    return _meaning(name)


def _line(text: str, at: int) -> tuple[int, int]:
    line, scheme = _LINE.match(text, at), _SCHEME.match(text, at)
    return scheme.end() if scheme else at, line.end() if line else at


def _value(text: str, at: int) -> tuple[int, int]:
    """Where the value that is assigned at `at` begins and ends, without its quotes."""
    if opening := _OPENING.match(text, at):
        return opening.end(), _closing(text, opening.end(), opening[2], len(opening[1]))
    if text.startswith(("[", "{"), at) and not text.startswith(REDACTED, at):
        return at, _bracket_end(text, at)
    end = at
    while nested := _ASSIGNMENT.match(text, end):  # token: password: hunter2
        end = nested.end()
    if end > at and (opening := _OPENING.match(text, end)):
        return at, _closing(text, opening.end(), opening[2], len(opening[1]))
    bare = _BARE.match(text, end)
    return at, bare.end() if bare else end


def _closing(text: str, start: int, quote: str, depth: int) -> int:
    """The end of a quoted value, whose quotes at both ends have `depth` backslashes before them."""
    at = text.find(quote, start)
    while at >= 0:
        first = at
        while first > start and text[first - 1] == "\\":
            first -= 1
        slashes = at - first
        if (slashes < depth or slashes % (2 * depth + 2) == depth) and _CLOSED.match(text, at + len(quote)):
            return at - min(slashes, depth)
        at = text.find(quote, at + 1)
    return len(text)


def _bracket_end(text: str, at: int) -> int:
    depth = 0
    for match in _BRACKETS.finditer(text, at):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def _harmless(value: str, meaning: _Name, *, quoted: bool) -> bool:
    if not value or value == REDACTED:
        return True
    if quoted:
        return False
    return bool(_LITERAL.fullmatch(value) or (meaning is _Name.COUNTABLE and _NUMBERS.fullmatch(value)))


# Nested values.


def _inner(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes):
        return redact(value.decode("latin-1")).encode("latin-1")
    if depth > MAX_DEPTH:
        return REDACTED
    if isinstance(value, Mapping):
        return _mapping(value, depth + 1)
    if isinstance(value, list | tuple | set | frozenset):
        return _sequence(value, depth + 1)
    return value


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
    inner = {}
    named = _key_meaning(value.get("name"))  # {"name": "Cookie", "value": …}, as browsers list headers
    for key, item in value.items():
        meaning = named if key == "value" else _key_meaning(key)
        hide = meaning is not _Name.INNOCENT
        inner[_inner(key, depth)] = _hidden(item, meaning, depth) if hide else _inner(item, depth)
    return inner


def _sequence(value: Any, depth: int) -> Any:
    kind = next(kind for kind in (list, tuple, set, frozenset) if isinstance(value, kind))
    if len(value) == 2 and kind in (list, tuple):  # ("authorization", "Bearer …"), as servers list headers
        name, item = value
        if (meaning := _key_meaning(name)) is not _Name.INNOCENT:
            return kind((name, _hidden(item, meaning, depth)))
    return kind(_inner(item, depth) for item in value)


def _key_meaning(key: Any) -> _Name:
    if isinstance(key, bytes):
        key = key.decode("latin-1")
    return _meaning(key[-MAX_NAME_CHARS:]) if isinstance(key, str) else _Name.INNOCENT


def _hidden(value: Any, meaning: _Name, depth: int) -> Any:
    """The same structure without anything that could be the secret."""
    if value is None or isinstance(value, bool) or value in ("", b""):
        return value
    if isinstance(value, int | float) and meaning is _Name.COUNTABLE:
        return value
    if isinstance(value, Mapping) and depth <= MAX_DEPTH:
        return {_inner(key, depth): _hidden(item, meaning, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple) and depth <= MAX_DEPTH:
        kind = list if isinstance(value, list) else tuple
        return kind(_hidden(item, meaning, depth + 1) for item in value)
    return REDACTED.encode() if isinstance(value, bytes) else REDACTED
