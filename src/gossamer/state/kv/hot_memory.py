"""Hot in this process: plain dictionaries, exact and bounded, for one process alone.

Nothing here runs in the background. Expired entries are removed when they are read; besides, two entries are
checked for each one that is added, so that expired ones never outnumber the others for long.
"""

import asyncio
import math
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from gossamer.state.kv.hot import FENCE_SECONDS, Claim, HitFacts, HitQuestion, Tally, Window

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Stamps = deque[int]  # the microseconds at which units were counted, oldest first


class ExpiringDict(dict[K, V], Generic[K, V]):
    """A dictionary that checks two entries for expiry each time one is added."""

    def __init__(self, has_expired: Callable[[K, V, float], bool]) -> None:
        super().__init__()
        self._has_expired = has_expired
        self._unswept: list[K] = []

    def add(self, key: K, value: V, now: float) -> None:
        self[key] = value
        for _ in range(2):
            if not self._unswept:
                self._unswept = list(self)
            candidate = self._unswept.pop()
            found = self.get(candidate)
            if found is not None and self._has_expired(candidate, found, now):
                del self[candidate]


class HeldClaim(Struct):
    """A claim as it is kept: running under a token, or done with a value."""

    token: str
    expires: float
    value: bytes | None = None


class KeptPage(NamedTuple):
    body: bytes
    edition: int


class MemoryHot:
    def __init__(
        self,
        max_pages: int = 1_000,
        max_page_bytes: int = 256_000_000,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._max_pages = max_pages
        self._max_page_bytes = max_page_bytes
        self._clock = clock or _steady_clock()
        self._keys: ExpiringDict[str, tuple[bytes, float]] = ExpiringDict(
            lambda _, entry, now: entry[1] <= now
        )
        self._windows: ExpiringDict[tuple[str, int], Stamps] = ExpiringDict(_is_over)
        self._claims: ExpiringDict[str, HeldClaim] = ExpiringDict(lambda _, held, now: held.expires <= now)
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._pages: OrderedDict[str, KeptPage] = OrderedDict()
        self._fences: ExpiringDict[str, tuple[int, float]] = ExpiringDict(
            lambda _, fence, now: fence[1] <= now
        )
        self._page_bytes = 0

    async def get(self, key: str) -> bytes | None:
        return self._get(key)

    def _get(self, key: str) -> bytes | None:
        entry = self._keys.get(key)
        if entry is None:
            return None
        if entry[1] <= self._clock():
            del self._keys[key]
            return None
        return entry[0]

    async def put(self, key: str, value: bytes, ttl: float, *, only_new: bool = False) -> bool:
        if only_new and self._get(key) is not None:
            return False
        now = self._clock()
        self._keys.add(key, (value, now + ttl), now)
        return True

    async def drop(self, *keys: str) -> int:
        there = [key for key in dict.fromkeys(keys) if self._get(key) is not None]
        for key in there:
            del self._keys[key]
        return len(there)

    async def take(self, windows: Sequence[Window], *, now: float | None = None) -> list[Tally]:
        return self._take(windows, now)

    def hit_question(self, windows: Sequence[Window], key: str, page: str, start: int) -> HitQuestion:
        def ask(receive: Callable[[HitFacts | Exception], None]) -> None:
            receive(HitFacts(self._take(windows), self._get(key), self._page(page, start)))

        return ask

    def _take(self, windows: Sequence[Window], now: float | None = None) -> list[Tally]:
        stamp = round((self._clock() if now is None else now) * 1_000_000)
        if len(windows) == 1:  # as nearly always
            window, stamps = windows[0], self._slide(windows[0], stamp)
            is_full = len(stamps) + window.cost > window.limit
            return [_look(window, stamps, stamp) if is_full else self._count(window, stamps, stamp)]
        if len({(window.key, window.seconds) for window in windows}) < len(windows):
            raise ValueError("a window is named twice")
        pairs = [(window, self._slide(window, stamp)) for window in windows]
        for window, stamps in pairs:
            if len(stamps) + window.cost > window.limit:
                return [_look(window, stamps, stamp) for window, stamps in pairs]
        return [self._count(window, stamps, stamp) for window, stamps in pairs]

    def _slide(self, window: Window, now: int) -> Stamps:
        """The units in the window, without those that have left it."""
        name = (window.key, window.seconds)
        stamps = self._windows.get(name)
        if not stamps:
            return deque()
        if stamps[-1] > now:
            stamps = self._windows[name] = _moved_back(stamps, now)
        edge = now - window.seconds * 1_000_000
        while stamps and stamps[0] <= edge:
            stamps.popleft()
        return stamps

    def _count(self, window: Window, stamps: Stamps, now: int) -> Tally:
        cost, seconds = window.cost, window.seconds
        if not cost:
            return _look(window, stamps, now)
        is_new = not stamps
        stamps.extend((now,) * cost)
        if is_new:
            self._windows.add((window.key, seconds), stamps, now / 1_000_000)
        return Tally(True, window.limit, len(stamps), stamps[0] / 1_000_000 + seconds, now)

    async def give_back(self, window: Window, stamp: int) -> None:
        stamps = self._windows.get((window.key, window.seconds), deque())
        # From the right: what is given back is recent.
        position = len(stamps) - 1
        while position >= 0 and stamps[position] > stamp:
            position -= 1
        for _ in range(window.cost):
            if position < 0 or stamps[position] != stamp:
                return
            del stamps[position]
            position -= 1

    async def claim(self, key: str, lease: float) -> Claim:
        now = self._clock()
        held = self._claims.get(key)
        if held is None or held.expires <= now:
            token = secrets.token_hex(16)
            self._claims.add(key, HeldClaim(token, now + lease), now)
            return Claim(key, token=token)
        return Claim(key, holder=held.token) if held.value is None else Claim(key, value=held.value)

    async def renew(self, claim: Claim, lease: float) -> bool:
        held = self._running(claim.key)
        if held is None or held.token != claim.token:
            return False
        held.expires = self._clock() + lease
        return True

    async def settle(self, claim: Claim, value: bytes, ttl: float) -> bool:
        held = self._running(claim.key)
        if held is None or held.token != claim.token:
            return False
        held.value = value
        held.expires = self._clock() + ttl
        self._wake(claim.key)
        return True

    async def release(self, claim: Claim) -> None:
        held = self._running(claim.key)
        if held is not None and held.token == claim.token:
            del self._claims[claim.key]
            self._wake(claim.key)

    async def wait(self, key: str, timeout: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        woken: asyncio.Future[None] = loop.create_future()
        first = self._running(key)
        waiting = self._waiting.setdefault(key, set())
        waiting.add(woken)
        try:
            while first is not None and self._running(key) is first:
                left = min(deadline - loop.time(), first.expires - self._clock() + 0.001)
                await asyncio.wait({woken}, timeout=max(left, 0))
                if woken.done() or loop.time() >= deadline:
                    return
        finally:
            waiting.discard(woken)
            if not waiting and self._waiting.get(key) is waiting:
                del self._waiting[key]

    def _running(self, key: str) -> HeldClaim | None:
        held = self._claims.get(key)
        if held is None or held.value is not None or held.expires <= self._clock():
            return None
        return held

    def _wake(self, key: str) -> None:
        for woken in self._waiting.pop(key, ()):
            if not woken.done():
                woken.set_result(None)

    async def page(self, key: str, *, start: int | None = None, touch: bool = True) -> bytes | None:
        return self._page(key, start, touch)

    def _page(self, key: str, start: int | None, touch: bool = True) -> bytes | None:
        kept = self._pages.get(key)
        if kept is None:
            return None
        if touch:
            self._pages.move_to_end(key)
        return kept.body if start is None else kept.body[:start]

    async def keep_page(self, key: str, body: bytes, *, edition: int = 0) -> bool:
        if edition and (edition <= self._fence(key) or edition < self._edition(key)):
            return False
        self._drop_page(key)
        if len(body) > self._max_page_bytes:
            return False
        self._pages[key] = KeptPage(body, edition)
        self._page_bytes += len(body)
        while len(self._pages) > self._max_pages or self._page_bytes > self._max_page_bytes:
            _, oldest = self._pages.popitem(last=False)
            self._page_bytes -= len(oldest.body)
        return True

    async def drop_page(self, key: str, *, edition: int = 0) -> bool:
        if edition:
            now = self._clock()
            self._fences.add(key, (max(edition, self._fence(key)), now + FENCE_SECONDS), now)
            if self._edition(key) > edition:
                return False
        return self._drop_page(key)

    def _drop_page(self, key: str) -> bool:
        kept = self._pages.pop(key, None)
        if kept is None:
            return False
        self._page_bytes -= len(kept.body)
        return True

    def _edition(self, key: str) -> int:
        kept = self._pages.get(key)
        return kept.edition if kept else 0

    def _fence(self, key: str) -> int:
        edition, expires = self._fences.get(key, (0, 0.0))
        return edition if expires > self._clock() else 0

    async def clear(self) -> None:
        for kept in (self._keys, self._windows, self._claims, self._pages, self._fences):
            kept.clear()
        self._page_bytes = 0
        for key in tuple(self._waiting):
            self._wake(key)

    async def pages(self) -> tuple[int, int]:
        return len(self._pages), self._page_bytes

    async def describe(self) -> None:
        return None

    async def ping(self) -> None:
        """Memory is always available."""

    async def close(self) -> None:
        for key in tuple(self._waiting):
            self._wake(key)


def _look(window: Window, stamps: Stamps, now: int) -> Tally:
    """The state of a window in which nothing was counted."""
    used = len(stamps)
    reset_at = stamps[0] / 1_000_000 + window.seconds if stamps else now / 1_000_000
    return Tally(used + window.cost <= window.limit, window.limit, used, reset_at, now)


def _is_over(name: tuple[str, int], stamps: Stamps, now: float) -> bool:
    newest = stamps[-1] / 1_000_000 if stamps else -math.inf
    return newest <= now - name[1]


def _moved_back(stamps: Stamps, now: int) -> Stamps:
    """The clock has stepped back. Move the whole log back with it, its newest unit to now: no unit then
    leaves before its time, and none stays longer than the window from here."""
    by = stamps[-1] - now
    return deque(stamp - by for stamp in stamps)


def _steady_clock() -> Callable[[], float]:
    """Unix seconds that continue when the machine's clock is set back: otherwise nothing would expire."""
    began = time.time() - time.monotonic()
    return lambda: began + time.monotonic()
