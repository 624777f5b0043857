"""ReadingOptions: what to read of a page."""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.web.content.site_memory import SiteMemory


class ReadingOptions(Struct, frozen=True):
    """Which parts of a page to read. The others are left out, so that no process has to carry them."""

    main_content: bool = True
    include: Sequence[str] = ()  # CSS selectors
    exclude: Sequence[str] = ()
    max_tokens: int | None = None  # of the brief; None for no brief
    query: str = ""  # which parts of the page the brief prefers
    resources: bool = False  # images, scripts and styles that the page loads
    max_text: int | None = None  # characters; None: all of it
    markdown: bool = True
    html: bool = True
    raw_html: bool = False
    links: bool = True
    memory: SiteMemory | None = None  # of the page's host
