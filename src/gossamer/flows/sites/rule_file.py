"""The operator's file of rules: TOML or JSON."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.problems import Problem
from gossamer.web.sites.site_rule import SiteRule, check_rules

MAX_FILE_RULES: Final = 1_000
MAX_FILE_BYTES: Final = 2_000_000


class BadRuleFile(Exception):
    """The file cannot be used. Its text is one line, which names the line or the field."""


class OperatorRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file has."""

    rules: tuple[SiteRule, ...] = ()


def read_rule_file(path: Path, *, home: str | None = None) -> tuple[SiteRule, ...]:
    """`home` is the origin that rules without a host are about; None: each has one."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadRuleFile(f"{path}: {error.strerror or 'it cannot be read'}") from None
    if len(content) > MAX_FILE_BYTES:
        raise BadRuleFile(f"{path}: it has more than {MAX_FILE_BYTES // 1_000_000} MB")
    try:
        return parse_rules(content, is_json=path.suffix == ".json", home=home)
    except BadRuleFile as error:
        raise BadRuleFile(f"{path}: {error}") from None


def parse_rules(content: bytes, *, is_json: bool, home: str | None = None) -> tuple[SiteRule, ...]:
    document = _decode(content, is_json)
    try:
        rules = msgspec.convert(document, OperatorRules).rules
    except msgspec.ValidationError as error:
        raise BadRuleFile(str(error).replace("`$.", "`")) from None
    if len(rules) > MAX_FILE_RULES:
        raise BadRuleFile(f"it has more than {MAX_FILE_RULES:,} rules")
    try:
        check_rules(rules, home)
    except Problem as problem:
        raise BadRuleFile(" ".join(filter(None, (problem.detail, problem.hint)))) from None
    return rules


def _decode(content: bytes, is_json: bool) -> Any:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRuleFile(f"line {line} is not UTF-8") from None
    try:
        return json.loads(text) if is_json else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = f"at line {text.count(chr(10)) + 1}, the last"
        told = str(error).replace("at end of document", last)
        raise BadRuleFile(f"it is no TOML: {told}") from None
    except json.JSONDecodeError as error:
        raise BadRuleFile(f"line {error.lineno}, column {error.colno}: it is no JSON: {error.msg}") from None
    except RecursionError:
        raise BadRuleFile("it is nested too deeply") from None
