"""The order of a whole run: files that take long are started first, so that none of them is left for the end.

Each is run by one process, and while the last one runs, the other processes have nothing to do. Seconds of a
run of four processes on two cores; files that take less follow in the order of their folders.
"""

from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
LONGEST: Final = (
    "doors/http/docs/test_schemathesis.py",  # 120
    "soak/test_mixed.py",  # 82
    "doors/http/dropin/firecrawl/test_clients.py",  # 77
    "dashboard/test_accessibility.py",  # 76
    "web/audit/test_audit.py",  # 76
    "examples/test_examples.py",  # 61
    "doors/http/docs/test_documentation.py",  # 54
    "doors/http/api/pages/test_fetch_hostile.py",  # 53
    "client/test_long_commands.py",  # 50
    "pay/test_orders_killed.py",  # 48
    "crawl/test_indexing.py",  # 47
    "doors/http/api/pages/test_deep_bodies.py",  # 44
    "doors/http/server/test_hostile_memory.py",  # 42
    "crawl/test_degradation.py",  # 39
    "crawl/test_accounting.py",  # 38
    "contract/monitors/test_monitors.py",  # 38
    "browser/test_browsers.py",  # 37
    "contract/pages/test_page_cache.py",  # 36
    "doors/cli/test_cli_audit.py",  # 36
    "contract/backup/test_backup.py",  # 35
    "doors/cli/test_cli_crawl.py",  # 35
    "dashboard/test_paths.py",  # 35
    "doors/worker/test_worker.py",  # 34
    "contract/search/test_search_index.py",  # 33
    "doors/http/api/pages/test_batch.py",  # 32
    "integrations/test_bots.py",  # 31
    "doors/http/layers/test_effects.py",  # 31
    "doors/http/api/audit/test_site_audits.py",  # 30
    "doors/cli/test_cli_fetch.py",  # 29
    "contract/search/test_indexing.py",  # 29
    "contract/backup/test_backup_faults.py",  # 29
    "doors/http/api/audit/test_audits.py",  # 28
    "client/test_commands.py",  # 28
    "client/test_client.py",  # 28
    "browser/test_fence.py",  # 26
    "pay/test_asked_again.py",  # 26
    "doors/http/api/pages/test_capture.py",  # 25
    "contract/removal/test_removal.py",  # 24
    "browser/test_visit_slow.py",  # 24
    "browser/test_visit.py",  # 22
)
_RANKS: Final = {TESTS / name: rank for rank, name in enumerate(LONGEST)}


def rank_of(path: Path) -> int:
    return _RANKS.get(path, len(_RANKS))
