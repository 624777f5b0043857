"""The operator's file of rules: what it may have, and how its mistakes are told."""

from pathlib import Path

import pytest

from gossamer.flows.sites.rule_file import BadRuleFile, parse_rules, read_rule_file

TOML = """
[[rules]]
host = "https://docs.example.com"
path = "/guide/*"
keep = ["article"]
ignoreParameters = ["ref"]
[rules.headers]
authorization = "Bearer secret"

[[rules]]
host = "*.example.com"
delay = 2.5
concurrency = 1
"""


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    toml, json = tmp_path / "rules.toml", tmp_path / "rules.json"
    toml.write_text(TOML)
    json.write_text(
        '{"rules": [{"host": "https://docs.example.com", "path": "/guide/*", "keep": ["article"],'
        ' "ignoreParameters": ["ref"], "headers": {"authorization": "Bearer secret"}},'
        ' {"host": "*.example.com", "delay": 2.5, "concurrency": 1}]}'
    )
    assert read_rule_file(toml) == read_rule_file(json)
    assert read_rule_file(toml)[0].headers == {"authorization": "Bearer secret"}


@pytest.mark.parametrize(
    ("text", "is_json", "told"),
    [
        ("[[rules]]\nhost = ", False, "line 2"),
        ('{"rules": [\n{"host": }]}', True, "line 2"),
        ('[[rules]]\nhost = "a.example"\ndelay = "soon"', False, "rules[0].delay"),
        ('[[rules]]\nhost = "a.example"\nkeeps = ["a"]', False, "keeps"),
        ('[[rules]]\npath = "/x"', False, "rules[0].host"),
        ('[[rules]]\nhost = "a.example"\ndrop = ["div["]', False, "rules[0].drop"),
        ('[[rules]]\nhost = "a.example"\npath = "/x"\ndelay = 1', False, "rules[0].path"),
        ("[" * 100_000, True, "nested"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_place(text: str, is_json: bool, told: str) -> None:
    with pytest.raises(BadRuleFile) as refused:
        parse_rules(text.encode(), is_json=is_json)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRuleFile, match=r"absent\.toml"):
        read_rule_file(tmp_path / "absent.toml")
    (tmp_path / "x.toml").write_bytes(b"a = 1\nb = '\xff'")
    with pytest.raises(BadRuleFile, match="line 2"):
        read_rule_file(tmp_path / "x.toml")
