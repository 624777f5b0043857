"""What is kept of a link besides its target."""

from enum import IntEnum
from typing import Final

MAX_TEXT_CHARS: Final = 100
MAX_REL_CHARS: Final = 60


class Place(IntEnum):
    """Where on its page a link stands. What is in no other place counts as content."""

    MAIN = 0
    NAV = 1
    HEADER = 2
    FOOTER = 3
    ASIDE = 4
    HEAD = 5  # an element or a header of the answer that names a related page, such as `canonical`


PLACES: Final = {place.name.lower(): place for place in (Place.NAV, Place.HEADER, Place.FOOTER, Place.ASIDE)}

# Its text, which may be long and have line breaks; its `rel` as it is written; its place. A plain tuple,
# because a crawl makes hundreds for each page.
LinkNote = tuple[str, str, int]
IN_HEAD: Final[LinkNote] = ("", "", int(Place.HEAD))
