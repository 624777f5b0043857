"""The order of a whole run: files that take long are started first, so that none of them is left for the end.

Each is run by one process, and while the last one runs, the other processes have nothing to do. Seconds of a
run of four processes on two cores; files that take less follow in the order of their folders.
"""

from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
LONGEST: Final = (
    "soak/test_mixed.py",  # 190
    "doors/http/docs/test_schemathesis.py",  # 167
    "dashboard/test_accessibility.py",  # 108
    "doors/worker/test_worker.py",  # 106
    "doors/http/dropin/firecrawl/test_clients.py",  # 96
    "integrations/test_bots.py",  # 94
    "soak/test_week.py",  # 86
    "dashboard/test_paths.py",  # 77
    "doors/http/api/pages/test_fetch_hostile.py",  # 77
    "browser/test_browsers.py",  # 75
    "contract/search/test_search_index.py",  # 75
    "examples/test_examples.py",  # 71
    "client/test_long_commands.py",  # 69
    "doors/cli/test_cli_crawl.py",  # 65
    "doors/http/api/pages/test_batch.py",  # 64
    "doors/http/docs/test_documentation.py",  # 63
    "contract/backup/test_backup_faults.py",  # 60
    "contract/backup/test_backup.py",  # 60
    "crawl/test_accounting.py",  # 59
    "flows/test_parser_pool.py",  # 59
    "doors/mcp/test_stdio.py",  # 56
    "doors/http/server/test_hostile_memory.py",  # 56
    "web/audit/test_audit.py",  # 56
    "doors/http/api/render/test_render.py",  # 55
    "contract/crawl/test_frontier_machine.py",  # 54
    "doors/http/api/audit/test_site_audits.py",  # 53
    "browser/test_visit.py",  # 51
    "flows/crawl/test_worker.py",  # 50
    "doors/http/layers/test_effects.py",  # 50
)
_RANKS: Final = {TESTS / name: rank for rank, name in enumerate(LONGEST)}


def rank_of(path: Path) -> int:
    return _RANKS.get(path, len(_RANKS))
