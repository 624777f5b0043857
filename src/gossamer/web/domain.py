"""Domains: which hosts one owner has registered, by the Public Suffix List as it is installed.

`docs.example.co.uk` is of `example.co.uk`; the hosts of a public suffix, as `a.github.io`, are each a domain
of their own. Addresses, and names without a dot, are domains of their own too.
"""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=65_536)
def domain_of(host: str) -> str:
    """The domain of a host as URLs have it: lower case, punycode, addresses as they are written."""
    name = host.rstrip(".")
    if name.startswith("[") or name.rpartition(".")[2].isdigit():
        return name
    return _suffixes().privatesuffix(name) or name


@cache
def _suffixes() -> PublicSuffixList:
    """Read when it is first needed, which takes a tenth of a second."""
    return PublicSuffixList()
