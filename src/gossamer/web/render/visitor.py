"""The visitor that a page sees: device, language and time zone of the browser, and what it does not load."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

Device = Literal["desktop", "mobile"]
BlockedKind = Literal["ads", "media", "fonts", "images", "stylesheets"]

DeviceOption = Annotated[
    Device,
    Meta(
        description="`mobile`: a small touch screen, and `Mobile` in the User-Agent, which still names "
        "Gossamer."
    ),
]
Locale = Annotated[
    str,
    Meta(
        pattern=r"^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}$",
        description="A language tag, `de-CH`: for Accept-Language, and in a browser for its scripts too.",
        examples=["de-CH"],
    ),
]
Timezone = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}$",
        description="For a browser: the time zone of its clock, by its IANA name.",
        examples=["Europe/Zurich"],
    ),
]
BlockedKinds = Annotated[
    tuple[BlockedKind, ...],
    Meta(
        max_length=5,
        description="For a browser: what it does not load. A page that is only read never loads its images, "
        "fonts and media, unless a step takes a screenshot.",
    ),
]

MOBILE: Final = "Mobile"  # the word by which sites know a phone; the rest of the User-Agent stays ours


class Visitor(Struct, frozen=True, kw_only=True):
    """The visitor that a page sees. Empty: as the browser is by itself."""

    device: Device = "desktop"
    locale: str = ""
    timezone: str = ""

    @property
    def is_mobile(self) -> bool:
        return self.device == "mobile"

    def user_agent(self, own: str) -> str:
        return f"{own} {MOBILE}" if self.is_mobile else own

    @property
    def languages(self) -> str:
        """The language with its region, then alone; empty for the default."""
        language = self.locale.partition("-")[0]
        return ",".join(dict.fromkeys(filter(None, (self.locale, language))))

    @property
    def headers(self) -> dict[str, str]:
        """What a plain fetch sends because of the language."""
        return (
            {"accept-language": f"{self.languages};q=0.9" if "," in self.languages else self.languages}
            if self.languages
            else {}
        )


ANYBODY: Final = Visitor()
