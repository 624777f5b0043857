"""Recent failures to render. They are kept in Hot; if they are lost, the pages are tried again."""

import asyncio
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.problems import Unavailable
from gossamer.state.kv.hot import Hot
from gossamer.state.pages.page_key import PageKey
from gossamer.web.url.url import digest

REMEMBERED_SECONDS: Final = 86_400.0


class FailedRender(Struct, frozen=True):
    at: float  # Unix seconds
    # Of the render that would fail likewise if it were tried again soon; of others nothing.
    job_id: str = ""
    job_key: str = ""

    @property
    def is_final(self) -> bool:
        return bool(self.job_id)


class RenderFailures:
    def __init__(self, hot: Hot) -> None:
        self._hot = hot

    async def last(self, key: PageKey) -> FailedRender | None:
        """The last failure of the page, unless it has been rendered or cleared since."""
        with suppress(Unavailable):
            stored, *cleared = await asyncio.gather(
                self._hot.get(_failure_key(key)),
                self._hot.get(_clearing_key(key.tenant)),
                self._hot.get(_clearing_key(key.tenant, key.form)),
            )
            failed = _read(stored) if stored else None
            if failed is not None and all(not at or float(at) < failed.at for at in cleared):
                return failed
        return None

    async def mark(self, key: PageKey, failed: FailedRender) -> None:
        with suppress(Unavailable):
            await self._hot.put(_failure_key(key), msgspec.json.encode(failed), REMEMBERED_SECONDS)

    async def clear(self, key: PageKey) -> None:
        with suppress(Unavailable):
            await self._hot.drop(_failure_key(key))

    async def clear_form(self, tenant: str, form: str, now: float) -> None:
        """Forget the failures until now of all pages with this cache form, which Hot cannot list."""
        await self._clear(_clearing_key(tenant, form), now)

    async def clear_tenant(self, tenant: str, now: float) -> None:
        """Forget all failures until now."""
        await self._clear(_clearing_key(tenant), now)

    async def _clear(self, mark: str, now: float) -> None:
        with suppress(Unavailable):
            await self._hot.put(mark, b"%f" % now, REMEMBERED_SECONDS)


def _read(stored: bytes) -> FailedRender | None:
    with suppress(msgspec.MsgspecError):  # an older version wrote something else
        return msgspec.json.decode(stored, type=FailedRender)
    return None


def _failure_key(key: PageKey) -> str:
    return f"render:failed:{key.name}"


def _clearing_key(tenant: str, form: str = "") -> str:
    return f"render:cleared:{tenant}:{digest(form)}" if form else f"render:cleared:{tenant}"
