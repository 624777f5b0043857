"""Whose request it is, whatever its headers claim."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.doors.http.layers.clients import bucket, client_address

OURS = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "expected"),
    [
        ("198.51.100.7", "1.2.3.4", (), "198.51.100.7"),
        ("198.51.100.7", "1.2.3.4", OURS, "198.51.100.7"),
        ("10.0.0.1", "1.2.3.4", OURS, "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4", OURS, "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4, 10.0.0.2", OURS, "1.2.3.4"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", OURS, "10.0.0.3"),
        ("10.0.0.1", "1.2.3.4, nonsense", OURS, "10.0.0.1"),
        ("10.0.0.1", "", OURS, "10.0.0.1"),
        ("fd00::1", "2001:db8::5", OURS, "2001:db8::5"),
        ("::ffff:10.0.0.1", "1.2.3.4", OURS, "1.2.3.4"),
        ("203.0.113.9", "1.2.3.4, 6.6.6.6", "*", "1.2.3.4"),
        ("203.0.113.9", "nonsense", "*", "203.0.113.9"),
    ],
)
def test_decision4_client_address(peer: str, forwarded: str, trusted: object, expected: str) -> None:
    assert client_address(peer, forwarded, trusted) == expected  # type: ignore[arg-type]


@given(st.text(max_size=200))
def test_an_untrusted_peer_cannot_choose_its_address(header: str) -> None:
    assert client_address("198.51.100.7", header, OURS) == "198.51.100.7"


@given(st.lists(st.ip_addresses(v=4).map(str), max_size=5))
def test_what_stands_left_of_the_client_changes_nothing(forged: list[str]) -> None:
    header = ", ".join([*forged, "203.0.113.5", "10.1.1.1"])
    assert client_address("10.0.0.1", header, OURS) == "203.0.113.5"


@given(st.integers(0, 2**64 - 1))
def test_ipv6_is_counted_by_its_64(low: int) -> None:
    import ipaddress

    assert bucket(str(ipaddress.IPv6Address((0x20010DB8 << 96) + low))) == "2001:db8::/64"


def test_mapped_ipv4_is_ipv4() -> None:
    assert bucket("::ffff:192.0.2.1") == bucket("192.0.2.1") == "192.0.2.1"
