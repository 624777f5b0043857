"""JobId: our id of a job, and what its starter wants to see of each page.

Firecrawl's clients name the formats when they start a job, and our crawls keep pages as they came. So the id
that they get says the formats too: every process knows them, also after a restart, and nothing is stored.
"""

import re
from enum import IntFlag
from typing import Final, NamedTuple, Self

from gossamer import problems
from gossamer.problems import Problem


class Wish(IntFlag):
    """What is wanted of each page. These numbers are in the ids that clients keep."""

    MARKDOWN = 1
    HTML = 2
    RAW_HTML = 4
    LINKS = 8
    IMAGES = 16
    SCREENSHOT = 32
    FULL_PAGE = 64  # not the main content only
    UNMET = 128  # and something that the pages of a job do not have


FORMATS: Final = {
    "markdown": Wish.MARKDOWN,
    "html": Wish.HTML,
    "rawHtml": Wish.RAW_HTML,
    "links": Wish.LINKS,
    "images": Wish.IMAGES,
}

_FORM: Final = re.compile(r"(?P<ours>[0-9A-Z]{26})(-(?P<wishes>[0-9a-f]{2}))?")


class JobId(NamedTuple):
    ours: str
    wishes: Wish = Wish.MARKDOWN

    @classmethod
    def parse(cls, text: str) -> Self:
        found = _FORM.fullmatch(text)
        if found is None:
            raise Problem(problems.NOT_FOUND, "There is no job with this id.")
        return cls(found["ours"], Wish(int(found["wishes"] or "1", 16)))

    def __str__(self) -> str:
        return f"{self.ours}-{self.wishes:02x}"

    @property
    def formats(self) -> list[str]:
        """The formats of a stored page that are wanted."""
        return [name for name, wish in FORMATS.items() if wish in self.wishes]
