"""Who is told of a page when it is written down: the search index of its tenant."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.flows.crawl.visit import Visited
from gossamer.state.search_index import Document, SearchIndex
from gossamer.web.outcome import Outcome

# Who sends one of these may see what others may not.
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "x-api-key"})


@dataclass(frozen=True, slots=True)
class Told:
    index: SearchIndex
    clock: Callable[[], float] = time.time

    def __call__(self, visited: Visited) -> None:
        page, seen = visited.page, visited.glance
        if page is None or seen is None or not _is_to_be_found(visited):
            return
        document = Document(
            url=page.final_url,
            title=seen.title,
            description=seen.description,
            text=seen.text,
            language=seen.language,
            seen_at=self.clock(),
        )
        self.index.note(visited.plan.crawl.tenant_id, document)


def _is_to_be_found(visited: Visited) -> bool:
    judged, seen = visited.judgement, visited.glance
    if judged is None or judged.outcome is not Outcome.OK or seen is None or seen.directives.noindex:
        return False
    return not any(name.lower() in _CREDENTIALS for name, _ in visited.plan.spec.headers)
