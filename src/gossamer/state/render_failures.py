"""Which pages could not be rendered lately. Lost with Hot, which does no harm: they are tried again."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from gossamer.problems import Unavailable
from gossamer.state.hot import Hot
from gossamer.state.page_key import PageKey

REMEMBERED_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Failed:
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

    async def last(self, key: PageKey) -> Failed | None:
        """The last one of the page, unless it has been rendered or cleared since."""
        with suppress(Unavailable):
            told, cleared = await asyncio.gather(
                self._hot.get(_failed(key)), self._hot.get(_cleared(key.tenant))
            )
            failed = _read(told) if told else None
            if failed is not None and (not cleared or float(cleared) < failed.at):
                return failed
        return None

    async def mark(self, key: PageKey, failed: Failed) -> None:
        with suppress(Unavailable):
            await self._hot.put(_failed(key), msgspec.json.encode(failed), REMEMBERED_SECONDS)

    async def clear(self, *keys: PageKey) -> None:
        with suppress(Unavailable):
            await self._hot.drop(*map(_failed, keys))

    async def clear_tenant(self, tenant: str, now: float) -> None:
        """All that has failed until now: which pages these are, Hot cannot tell."""
        with suppress(Unavailable):
            await self._hot.put(_cleared(tenant), b"%f" % now, REMEMBERED_SECONDS)


def _read(told: bytes) -> Failed | None:
    with suppress(msgspec.MsgspecError):  # an older version wrote something else
        return msgspec.json.decode(told, type=Failed)
    return None


def _failed(key: PageKey) -> str:
    return f"render:failed:{key.name}"


def _cleared(tenant: str) -> str:
    return f"render:cleared:{tenant}"
