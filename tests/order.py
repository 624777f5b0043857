"""The order of a whole run: files that take long are started first, so that none of them is left for the end.

Each is run by one process, and while the last one runs, the other processes have nothing to do. Seconds of a
run of four processes on two cores; files that take less follow in the order of their folders.
"""

from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
LONGEST: Final = (
    "doors/worker/test_worker.py",  # 160
    "integrations/test_bots.py",  # 156
    "soak/test_mixed.py",  # 143
    "doors/http/docs/test_schemathesis.py",  # 128
    "dashboard/test_accessibility.py",  # 119
    "pay/test_asked_again.py",  # 117
    "contract/pages/test_page_cache.py",  # 109
    "doors/http/dropin/firecrawl/test_clients.py",  # 94
    "web/audit/test_audit.py",  # 86
    "doors/http/api/pages/test_fetch_hostile.py",  # 81
    "crawl/test_degradation.py",  # 81
    "dashboard/test_paths.py",  # 78
    "browser/test_browsers.py",  # 74
    "crawl/test_accounting.py",  # 69
    "contract/search/test_search_index.py",  # 67
    "doors/http/layers/test_effects.py",  # 65
    "examples/test_examples.py",  # 65
    "doors/http/server/test_hostile_memory.py",  # 64
    "client/test_long_commands.py",  # 64
    "pay/test_orders_killed.py",  # 61
    "doors/http/api/pages/test_batch.py",  # 60
    "contract/pages/test_page_cache_faults.py",  # 57
    "browser/test_visit.py",  # 57
    "doors/http/api/pages/test_capture.py",  # 56
    "doors/cli/test_cli_crawl.py",  # 56
)
_RANKS: Final = {TESTS / name: rank for rank, name in enumerate(LONGEST)}


def rank_of(path: Path) -> int:
    return _RANKS.get(path, len(_RANKS))
