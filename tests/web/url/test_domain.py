"""Domains by the Public Suffix List, with the list's own cases as they are installed with it."""

import re
from importlib.resources import files

import pytest
from ada_url import normalize_url

from gossamer.web.url.domain import domain_of

CASES = re.findall(
    r"^checkPublicSuffix\('([^'.][^']*)', (?:'([^']*)'|null)\);",
    files("publicsuffixlist").joinpath("test_psl.txt").read_text("utf-8"),
    re.MULTILINE,
)


def in_urls(name: str) -> str:
    return normalize_url(f"https://{name}/").removeprefix("https://").removesuffix("/")


def test_the_lists_own_cases() -> None:
    assert len(CASES) > 70
    for name, domain in CASES:
        host = in_urls(name)
        assert domain_of(host) == (in_urls(domain) if domain else host), name


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("www.example.com.", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("one.github.io", "one.github.io"),
        ("www.one.github.io", "one.github.io"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("a.intranet", "a.intranet"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.1.1", "127.0.1.1"),
        ("[::1]", "[::1]"),
        ("www.xn--bcher-kva.xn--fiqs8s", "xn--bcher-kva.xn--fiqs8s"),
    ],
)
def test_domains(host: str, domain: str) -> None:
    assert domain_of(host) == domain
