"""Finds links to one URL in the pages of a crawl. Most pages are passed over without being parsed.

The last part of the URL's path stands in every link to it, or in the address of the page that the link is
relative to. So a page without it, in its body or its address, has no such link. The exceptions are letters
that are written as a number, such as `&#97;` or `%61`, and encodings in which letters are not ASCII; such
pages are parsed. Only a word that is broken by a tab or a line break inside a link is overlooked.
"""

import re
from typing import Final

from msgspec import Struct

from gossamer.problems import Problem
from gossamer.web.documents.kind import is_html
from gossamer.web.html.links import Link
from gossamer.web.pages.page import Page
from gossamer.web.url.url import TRACKING, Tracking, Url, crawl_form

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED: Final = re.compile(r"%[0-9A-Fa-f]{2}")
# A letter, a digit, a hyphen or an underscore that is written as a number.
_AS_NUMBER: Final = re.compile(
    rb"&#0*(?:4[589]|5[0-7]|6[5-9]|[78][0-9]|9[05789]|1[01][0-9]|12[0-2])(?![0-9])"
    rb"|&#[xX]0*(?:2[dD]|3[0-9]|[4-7][0-9a-fA-F])(?![0-9a-fA-F])"
    rb"|%(?:2[dD]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])"
)
_WIDE: Final = ("utf-16", "utf-32")


class LinkSearch(Struct, frozen=True):
    """The URL that is linked to, and what counts as a spelling of it in its crawl."""

    form: str
    part: bytes  # of the path; empty: any page may have a link
    tracking: Tracking
    keep_slash: bool

    @classmethod
    def of(cls, url: Url, tracking: Tracking = TRACKING, *, keep_slash: bool = True) -> "LinkSearch":
        last = next((part for part in reversed(url.path.split("/")) if part), "")
        plain = _PLAIN.findall(_ESCAPED.sub("/", last))
        part = max(plain, key=len, default="").encode()
        return cls(crawl_form(url, tracking, keep_slash=keep_slash), part, tracking, keep_slash)

    def may_be_on(self, page: Page) -> bool:
        """Whether the page is worth being parsed."""
        if not is_html(page.media_type, page.body, page.final_url):
            return False
        return (
            self.part in page.body
            or self.part in page.final_url.encode()
            or page.charset.lower().startswith(_WIDE)
            or _AS_NUMBER.search(page.body) is not None
        )

    def find(self, links: tuple[Link, ...]) -> Link | None:
        """The first of these links that leads to the URL."""
        return next((link for link in links if self.leads_there(link.url)), None)

    def leads_there(self, address: str) -> bool:
        if not address.startswith(("http:", "https:")):
            return False
        if self.part and self.part not in address.encode() and not _ESCAPED.search(address):
            return False
        try:
            url = Url.parse(address)
        except Problem:
            return False
        return crawl_form(url, self.tracking, keep_slash=self.keep_slash) == self.form
