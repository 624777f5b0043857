"""Addresses: decide whether we may connect to an address, with a reason.

Only the address of the connection counts, never the spelling of the host. Every refused range has a name, and
IPv6 is refused unless it is known to be public. The ranges are those of IANA's special-purpose registries and
the fixed addresses of cloud platforms; `ipaddress.is_global` would let a third of them through.
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

from msgspec import Struct

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Verdict(Struct, frozen=True):
    """Whether we may connect, and the name of the rule that decides."""

    allowed: bool
    reason: str


PUBLIC: Final = Verdict(True, "public")
OPENED: Final = Verdict(True, "opened")  # by the operator, in `egress_allow`
A_NAME: Final = Verdict(True, "name")  # its addresses decide


def _table(*rows: tuple[str, str]) -> tuple[tuple[Network, Verdict], ...]:
    """Build a table. The first row with an address decides, so narrow ranges come before wide ones."""
    return tuple((ip_network(block), Verdict(False, reason)) for block, reason in rows)


_REFUSED_V4: Final = _table(
    ("0.0.0.0/8", "this_network"),
    ("10.0.0.0/8", "private"),
    ("100.100.100.200/32", "metadata"),  # Alibaba Cloud
    ("100.64.0.0/10", "cgnat"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "metadata"),  # Azure, and a public address by any registry
    ("169.254.169.254/32", "metadata"),
    ("169.254.0.0/16", "link_local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "as112"),
    ("192.52.193.0/24", "amt"),
    ("192.88.99.0/24", "6to4"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "as112"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
)
_PUBLIC_V6: Final = IPv6Network("2000::/3")
_REFUSED_V6: Final = _table(
    # Within 2000::/3.
    ("2001::/32", "teredo"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "as112"),
    ("3fff::/20", "documentation"),
    # Everything else is refused whether or not it has a name here.
    ("::/128", "this_network"),
    ("::1/128", "loopback"),
    ("::ffff:0:0:0/96", "translated"),
    ("64:ff9b::/96", "nat64"),
    ("64:ff9b:1::/48", "nat64"),
    ("100::/64", "discard"),
    ("fd00:ec2::254/128", "metadata"),  # AWS
    ("fc00::/7", "private"),
    ("fe80::/10", "link_local"),
    ("fec0::/10", "site_local"),
    ("ff00::/8", "multicast"),
)


def classify(address: Address, allow: Sequence[Network] = ()) -> Verdict:
    """Return the verdict on one address; `allow` lists networks that the operator has opened."""
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return Verdict(False, "scoped")
    address = unmap(address)
    if any(address in network for network in allow):
        return OPENED
    refused = _REFUSED_V4 if isinstance(address, IPv4Address) else _REFUSED_V6
    for network, verdict in refused:
        if address in network:
            return verdict
    return PUBLIC if isinstance(address, IPv4Address) or address in _PUBLIC_V6 else Verdict(False, "reserved")


def unmap(address: Address) -> Address:
    """Return the IPv4 address of ::ffff:0:0/96, which is judged and connected to as IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


# Names with a meaning inside a machine or a network, which are refused without a DNS query.
_LOCAL_SUFFIXES: Final = {"localhost": "loopback", "internal": "internal_name", "local": "internal_name"}
_METADATA_NAMES: Final = frozenset(
    {
        "metadata",
        "instance-data",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.google.com",
        "metadata.azure.internal",
        "metadata.packet.net",
        "metadata.platformequinix.com",
        "metadata.tencentyun.com",
        "instance-data.ec2.internal",
    }
)
_LOOPBACK_NAMES: Final = frozenset({"ip6-localhost", "ip6-loopback"})
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


def judge_host(host: str, allow: Sequence[Network] = ()) -> Verdict:
    """Judge a canonical host before DNS: an address gets its verdict, and a name may be refused.

    `allow` opens addresses only; a refused name stays refused.
    """
    address = literal(host)
    return classify(address, allow) if address else _judge_name(host.removesuffix("."))


def literal(host: str) -> Address | None:
    """Return the address that a canonical host is, or None for a name."""
    try:
        return IPv6Address(host[1:-1]) if host[:1] + host[-1:] == "[]" else IPv4Address(host)
    except ValueError:
        return None


def _judge_name(name: str) -> Verdict:
    last = name.rpartition(".")[2]
    # A canonical host that ends in a number is a dotted address. Any other is an unusual spelling of one,
    # which the resolver of the system would accept.
    if not _NAME.fullmatch(name) or _NUMBER.fullmatch(last):
        return Verdict(False, "malformed_name")
    if name in _METADATA_NAMES:
        return Verdict(False, "metadata")
    if name in _LOOPBACK_NAMES:
        return Verdict(False, "loopback")
    if last in _LOCAL_SUFFIXES:
        return Verdict(False, _LOCAL_SUFFIXES[last])
    return A_NAME if "." in name else Verdict(False, "single_label")
