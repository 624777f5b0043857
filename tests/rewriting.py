"""Compiles the tests as pytest does, for all processes of a run: `python -m tests.rewriting`.

Pytest rewrites the assertions of a file when it is first imported, which takes ten seconds for all of them.
In a fresh clone, each of the processes that run the tests would do it at the same time.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, cast

from _pytest.assertion import rewrite

TESTS = Path(__file__).parent


def main() -> None:
    files = sorted(TESTS.rglob("test_*.py"))
    with ProcessPoolExecutor() as processes:
        sys.exit(not all(processes.map(compile_rewritten, files, chunksize=8)))


def compile_rewritten(file: Path) -> bool:
    cache = rewrite.get_cache_dir(file)
    compiled = cache / (file.stem + rewrite.PYC_TAIL)
    if rewrite._read_pyc(file, compiled) is not None:
        return True
    without_hooks = cast(Any, None)  # there is no configuration yet, and none of ours changes what comes out
    digest, code = rewrite._rewrite_test(file, without_hooks)
    return rewrite.try_makedirs(cache) and rewrite._write_pyc(without_hooks, code, digest, compiled)


if __name__ == "__main__":
    main()
