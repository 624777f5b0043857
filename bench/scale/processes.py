"""What several processes of a crawl bring: each has a core of its own, and they share a database.

A closed network of queues, solved exactly (mean value analysis). A process works on pages, then waits for its
turn at the database. SQLite lets one writer in at a time; PostgreSQL as many as it has cores.
"""

from typing import Final

PROCESSES: Final = (1, 2, 4, 8)


def speedup(processes: int, work: float, shared: float, servers: float = 1) -> float:
    """Pages a second beside one process. A page takes `work` seconds of its process's own core, and `shared`
    of the database, which serves `servers` at a time."""
    # Several servers are like one that is as many times as fast, with a delay that makes up for it.
    turn = shared / servers
    alone = work + shared - turn
    rate, waiting = 0.0, 0.0
    for number in range(1, processes + 1):
        served = turn * (1 + waiting)
        rate = number / (alone + served)
        waiting = rate * served
    return rate * (work + shared)
