"""VisitOptions: how a page is visited, and what its visit leaves besides the page."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from gossamer.web.pages.cache_options import CacheOptions
from gossamer.web.render.actions import Actions
from gossamer.web.render.cookies import SentCookies
from gossamer.web.render.visitor import BlockedKinds, DeviceOption, Locale, Timezone


class VisitOptions(CacheOptions, frozen=True, kw_only=True, omit_defaults=True):
    """How a page is visited. With `actions`, `cookies` or `returnCookies`, an answer is for its caller alone:
    it is neither taken from the cache nor kept there, whatever `cache` says."""

    actions: Actions = ()
    cookies: SentCookies = ()
    return_cookies: Annotated[
        bool, Meta(description="Answer with the cookies that the page has after the visit.")
    ] = False
    device: DeviceOption = "desktop"
    locale: Locale | UnsetType = UNSET
    timezone: Timezone | UnsetType = UNSET
    block: BlockedKinds = ()

    @property
    def is_private(self) -> bool:
        """Whether the answer is for its caller alone. Steps have effects, and cookies open sessions."""
        return bool(self.actions or self.cookies or self.return_cookies)

    def uses_cache(self, default: bool | None = None) -> bool:
        return not self.is_private and super().uses_cache(default)

    def visit_parameters(self) -> dict[str, object]:
        """What the answer of a request that may be cached depends on; nothing where it is as ever."""
        parameters = {
            "device": self.device if self.device != "desktop" else None,
            "locale": self.locale or None,
            "timezone": self.timezone or None,
            "block": sorted(set(self.block)),
        }
        return {name: value for name, value in parameters.items() if value}
