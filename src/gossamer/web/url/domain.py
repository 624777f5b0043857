"""Domains: find the registered domain of a host, by the installed Public Suffix List.

`docs.example.co.uk` belongs to `example.co.uk`. Each host of a public suffix, such as `a.github.io`, is a
domain of its own, and so are addresses and names without a dot.
"""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=65_536)
def domain_of(host: str) -> str:
    """Return the domain of a host, which is in lower case and punycode, as in URLs."""
    name = host.rstrip(".")
    if name.startswith("[") or name.rpartition(".")[2].isdigit():
        return name
    return _suffixes().privatesuffix(name) or name


@cache
def _suffixes() -> PublicSuffixList:
    """Read the list when it is first needed, because that takes a tenth of a second."""
    return PublicSuffixList()
