"""What a worker knows of the traps of a crawl: of each host, and which contents it has seen."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from gossamer.web.crawl.scope import Pattern
from gossamer.web.crawl.traps.host_traps import HostTraps, TrapState
from gossamer.web.crawl.traps.novelty import Novelty, links_of, pictures_of
from gossamer.web.crawl.traps.trap import TrapCount
from gossamer.web.url.url import Url

MAX_HOSTS: Final = 1_000
MAX_CONTENTS: Final = 50_000  # in one generation
MAX_VARIANTS: Final = 100  # of pictures and links with the same text


class MetContent(NamedTuple):
    """A text that was met, and the pictures and links that its copies had."""

    url_hash: str  # of the first page that had it
    copies: frozenset[tuple[int, int]] = frozenset()


class CrawlTraps:
    def __init__(self, now: int, exceptions: Sequence[str] = ()) -> None:
        self._now = now
        self._exceptions = tuple(Pattern.of(text) for text in exceptions)
        self._hosts: OrderedDict[str, HostTraps] = OrderedDict()
        self._young: dict[int, MetContent] = {}
        self._old: dict[int, MetContent] = {}
        self.retractions = 0

    def of(self, host: str) -> HostTraps:
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = HostTraps(self._now)
            if len(self._hosts) > MAX_HOSTS:
                self._hosts.popitem(last=False)
        return found

    def take_changes(self, host: str) -> tuple[TrapState, tuple[TrapCount, ...]] | None:
        """What is to be written about a host; None if nothing is."""
        found = self._hosts.get(host)
        return None if found is None else found.take_changes()

    def knows_parameters(self, host: str) -> bool:
        """Whether URLs that wait may be known by another name meanwhile."""
        found = self._hosts.get(host)
        return found is not None and found.knows_parameters

    def take_over(self, host: str, state: TrapState) -> None:
        self.of(host).take_over(state)

    def forget(self, host: str) -> None:
        """Another worker has the host, and knows it better."""
        self._hosts.pop(host, None)

    def is_exempt(self, url: Url) -> bool:
        return bool(self._exceptions) and any(each.matches(url, url.href) for each in self._exceptions)

    def add_content(self, host: str, content_hash: str, url_hash: str) -> None:
        """Remember a content that was stored before."""
        self._young.setdefault(content_of(host, content_hash), MetContent(url_hash))

    def compare(self, content: int, url_hash: str, body: bytes, *, is_near: bool) -> Novelty:
        """What the text of a page adds to its host; it is remembered. The links of the first copy are
        followed too: only from then on is known what else the copies have in common."""
        met = self._young.get(content) or self._old.get(content)
        if met is None:
            self._remember(content, MetContent(url_hash))
        if met is None or met.url_hash == url_hash:  # which may be fetched again
            return Novelty.NEAR if is_near else Novelty.NEW
        pictures, links = pictures_of(body), links_of(body)
        if (pictures, links) in met.copies:
            return Novelty.COPY
        is_first = not met.copies
        has_own = all(pictures != other for other, _ in met.copies)
        if len(met.copies) < MAX_VARIANTS:
            self._remember(content, MetContent(met.url_hash, met.copies | {(pictures, links)}))
        return Novelty.NEW if has_own and not is_first else Novelty.EXACT

    def _remember(self, content: int, met: MetContent) -> None:
        self._young[content] = met
        if len(self._young) > MAX_CONTENTS:
            self._young, self._old = {}, self._young


def content_of(host: str, content_hash: str) -> int:
    return hash((host, content_hash))
