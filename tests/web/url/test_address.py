"""Which addresses and names may be talked to: every range with its neighbours on both sides."""

from ipaddress import IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.url.address import Address, Verdict, classify, judge_host, literal, unmap

RANGES_V4 = [
    ("this_network", "0.0.0.0", "0.255.255.255", None, "1.0.0.0"),
    ("private", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"),
    ("cgnat", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"),
    ("metadata", "100.100.100.200", "100.100.100.200", None, None),
    ("loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"),
    ("metadata", "168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"),
    ("metadata", "169.254.169.254", "169.254.169.254", None, None),
    ("link_local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"),
    ("private", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"),
    ("reserved", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"),
    ("documentation", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"),
    ("as112", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"),
    ("amt", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"),
    ("6to4", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"),
    ("private", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"),
    ("as112", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"),
    ("benchmarking", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"),
    ("documentation", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"),
    ("documentation", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"),
    ("multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255", None),
    ("reserved", "240.0.0.0", "255.255.255.254", None, None),
    ("broadcast", "255.255.255.255", "255.255.255.255", None, None),
]
RANGES_V6 = [
    ("this_network", "::", "::", None, None),
    ("loopback", "::1", "::1", None, None),
    ("reserved", "::2", "::fffe:ffff:ffff", None, None),  # among them IPv4-compatible ones
    ("translated", "::ffff:0:0:0", "::ffff:0:ffff:ffff", None, None),
    ("nat64", "64:ff9b::", "64:ff9b::ffff:ffff", None, None),
    ("nat64", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", None, None),
    ("discard", "100::", "100::ffff:ffff:ffff:ffff", None, None),
    ("reserved", "100:0:0:1::", "1fff:ffff::", None, "2000::"),
    ("teredo", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::", None),
    ("reserved", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", None, "2001:200::"),
    (
        "documentation",
        "2001:db8::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db7:ffff::",
        "2001:db9::",
    ),
    ("6to4", "2002::", "2002:ffff:ffff::", "2001:ffff::", "2003::"),
    ("as112", "2620:4f:8000::", "2620:4f:8000:ffff::", "2620:4f:7fff::", "2620:4f:8001::"),
    ("documentation", "3fff::", "3fff:fff:ffff::", "3ffe:ffff::", "3fff:1000::"),
    ("reserved", "4000::", "fbff:ffff::", "3fff:ffff::", None),
    ("private", "fc00::", "fdff:ffff::", None, None),
    ("metadata", "fd00:ec2::254", "fd00:ec2::254", None, None),
    ("reserved", "fe00::", "fe7f:ffff::", None, None),
    ("link_local", "fe80::", "febf:ffff::", None, None),
    ("site_local", "fec0::", "feff:ffff::", None, None),
    ("multicast", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
]


@pytest.mark.parametrize(("reason", "first", "last", "before", "after"), RANGES_V4 + RANGES_V6)
def test_ranges_and_their_neighbours(
    reason: str, first: str, last: str, before: str | None, after: str | None
) -> None:
    assert classify(ip_address(first)) == Verdict(False, reason)
    assert classify(ip_address(last)) == Verdict(False, reason)
    for neighbour in filter(None, (before, after)):
        assert classify(ip_address(neighbour)) == Verdict(True, "public")


@pytest.mark.parametrize(("reason", "first", "last", "before", "after"), RANGES_V4)
def test_ipv4_within_ipv6_is_judged_as_ipv4(
    reason: str, first: str, last: str, before: str | None, after: str | None
) -> None:
    assert classify(ip_address(f"::ffff:{first}")) == Verdict(False, reason)
    assert classify(ip_address(f"::ffff:{last}")) == Verdict(False, reason)
    for neighbour in filter(None, (before, after)):
        assert classify(ip_address(f"::ffff:{neighbour}")).allowed


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::200e", "2400:cb00::1"],
)
def test_public_addresses(address: str) -> None:
    assert classify(ip_address(address)) == Verdict(True, "public")


@pytest.mark.parametrize("address", ["fe80::1%eth0", "2606:4700::1111%1", "::1%lo", "::ffff:8.8.8.8%1"])
def test_a_scope_is_refused_even_where_the_network_is_opened(address: str) -> None:
    everything = [ip_network("::/0"), ip_network("0.0.0.0/0")]
    assert classify(IPv6Address(address)) == Verdict(False, "scoped")
    assert classify(IPv6Address(address), everything) == Verdict(False, "scoped")


def test_networks_are_opened_on_purpose() -> None:
    allow = [ip_network("127.0.0.0/30"), ip_network("fd00:1::/32")]
    opened = Verdict(True, "opened")
    for address in ("127.0.0.1", "127.0.0.3", "::ffff:127.0.0.1", "fd00:1::5"):
        assert classify(ip_address(address), allow) == opened
    for address in ("127.0.0.4", "::ffff:127.0.0.4", "fd00:2::5", "::1", "64:ff9b::7f00:1", "::7f00:1"):
        assert not classify(ip_address(address), allow).allowed
    assert classify(ip_address("8.8.8.8"), allow) == Verdict(True, "public")


def test_what_is_connected_to_is_what_was_judged() -> None:
    assert unmap(ip_address("::ffff:1.2.3.4")) == ip_address("1.2.3.4")
    assert unmap(ip_address("64:ff9b::102:304")) == ip_address("64:ff9b::102:304")


ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@given(ADDRESSES)
def test_p_nothing_that_the_standard_library_calls_special_is_public(address: Address) -> None:
    verdict = classify(address)
    plain = unmap(address)
    special = plain.is_multicast or plain.is_private or plain.is_reserved or plain.is_loopback
    assert not (verdict.allowed and special)


@given(ADDRESSES)
def test_p_a_literal_is_judged_like_its_address(address: Address) -> None:
    host = str(address) if address.version == 4 else f"[{address}]"
    assert literal(host) == address
    assert judge_host(host) == classify(address)


# Names.


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("localhost", "loopback"),
        ("localhost.", "loopback"),
        ("app.localhost", "loopback"),
        ("ip6-localhost", "loopback"),
        ("ip6-loopback", "loopback"),
        ("metadata", "metadata"),
        ("metadata.google.internal", "metadata"),
        ("metadata.google.internal.", "metadata"),
        ("metadata.goog", "metadata"),
        ("metadata.google.com", "metadata"),
        ("instance-data", "metadata"),
        ("db.internal", "internal_name"),
        ("internal", "internal_name"),
        ("printer.local", "internal_name"),
        ("kubernetes.default.svc.cluster.local", "internal_name"),
        ("intranet", "single_label"),
        ("com.", "single_label"),
        ("", "malformed_name"),
        (".", "malformed_name"),
        ("..", "malformed_name"),
        ("a..com", "malformed_name"),
        ("a.com..", "malformed_name"),
        (".a.com", "malformed_name"),
        ("a b.com", "malformed_name"),
        ("a.com\n", "malformed_name"),
        ("A.com", "malformed_name"),
        ("bücher.de", "malformed_name"),
        ("a" * 64 + ".com", "malformed_name"),
        ("a." * 127 + "com", "malformed_name"),
        ("a.com:80", "malformed_name"),
        ("::1", "malformed_name"),
        ("[::1", "malformed_name"),
        # Spellings of addresses that a canonical host never has.
        ("2130706433", "malformed_name"),
        ("0x7f.1", "malformed_name"),
        ("0x", "malformed_name"),
        ("0177.0.0.1", "malformed_name"),
        ("127.1", "malformed_name"),
        ("127.0.0.1.", "malformed_name"),
        ("\uff11\uff12\uff17.0.0.1", "malformed_name"),
        ("a.com.1", "malformed_name"),
    ],
)
def test_names_refused_before_dns(host: str, reason: str) -> None:
    everything = [ip_network("0.0.0.0/0"), ip_network("::/0")]
    assert judge_host(host) == Verdict(False, reason)
    assert judge_host(host, everything) == Verdict(False, reason)


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "example.com.",
        "a_b.example.com",
        "xn--bcher-kva.de",
        "localhost.example.com",
        "notlocalhost.com",
        "internal.example.com",
        "mylocal.io",
        "127.0.0.1.nip.io",
        "1.com",
        "0x7f.com",
        "a" * 63 + ".com",
    ],
)
def test_names_whose_addresses_decide(host: str) -> None:
    assert judge_host(host) == Verdict(True, "name")


@pytest.mark.parametrize(
    ("host", "reason"), [("127.0.0.1", "loopback"), ("[::1]", "loopback"), ("[::ffff:a00:1]", "private")]
)
def test_literals_are_judged_before_anything_leaves(host: str, reason: str) -> None:
    assert judge_host(host) == Verdict(False, reason)
    assert judge_host(
        host, [ip_network("127.0.0.0/8"), ip_network("::1/128"), ip_network("10.0.0.0/8")]
    ).allowed
