"""The visitor that a page sees, and which hosts are of advertisements."""

import pytest

from gossamer.web.render.ad_hosts import is_ad_host
from gossamer.web.render.visitor import Visitor


@pytest.mark.parametrize(
    ("locale", "languages", "sent"),
    [("", "", None), ("de", "de", "de"), ("de-CH", "de-CH,de", "de-CH,de;q=0.9")],
)
def test_a_language_is_sent_with_its_region_first(locale: str, languages: str, sent: str | None) -> None:
    visitor = Visitor(locale=locale)
    assert (visitor.languages, visitor.headers.get("accept-language")) == (languages, sent)


def test_the_product_is_always_named() -> None:
    assert Visitor(device="mobile").user_agent("Gossamer/1 (+https://us.example)").startswith("Gossamer/1 (")
    assert Visitor().user_agent("Gossamer/1") == "Gossamer/1"


@pytest.mark.parametrize("host", ["doubleclick.net", "ad.doubleclick.net", "a.b.adnxs.com", "adnxs.com."])
def test_hosts_of_advertisements_are_known_with_all_below(host: str) -> None:
    assert is_ad_host(host)


@pytest.mark.parametrize("host", ["", "net", "notdoubleclick.net", "doubleclick.net.example", "127.0.0.1"])
def test_other_hosts_are_not(host: str) -> None:
    assert not is_ad_host(host)
