"""What a batch is asked to do."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta
from msgspec.structs import replace

from gossamer.web.pages.page_request import PageOptions, invalid_field
from gossamer.web.render.actions import check_actions
from gossamer.web.url.sent_headers import check_headers
from gossamer.web.webhooks.webhook import WebhookRequest

MAX_URLS: Final = 1_000

BatchTier = Literal["basic", "pro", "auto"]


class BatchRequest(PageOptions, frozen=True, kw_only=True):
    """Which pages to fetch, and what is asked of each."""

    urls: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            max_length=MAX_URLS,
            description="A URL that is malformed or not allowed fails by itself.",
        ),
    ]
    tier: Annotated[
        BatchTier,
        Meta(description="`basic`: without a browser. `pro`: with one. `auto`: if the page needs one."),
    ] = "basic"
    webhook: Annotated[
        WebhookRequest | None, Meta(description="Whom to tell that it started, has results, and ended.")
    ] = None

    def options(self, *, cache: bool | None = None) -> PageOptions:
        """The options for every page. Raises `Problem` for options that no page can be read with."""
        if self.tier == "auto" and self.render not in (UNSET, "auto"):
            raise invalid_field("render", f"The tier auto takes 'auto', not {self.render!r}", "Leave it out.")
        check_headers(self.headers)
        check_actions(self.actions)
        if self.return_cookies:
            raise invalid_field(
                "returnCookies",
                "The results of a batch are stored, and cookies of a visit are not",
                "Ask /fetch for the page whose cookies you need.",
            )
        asked = PageOptions(**{name: getattr(self, name) for name in PageOptions.__struct_fields__})
        asked = replace(asked, cache=self.uses_cache(cache))
        return (
            replace(asked, render="auto").settled(None) if self.tier == "auto" else asked.settled(self.tier)
        )
