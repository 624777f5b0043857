"""Hostile pages: what each kind of attack costs the server, its reading child, and whoever asks beside it.

Every page is fetched in all formats, while another caller asks for `/health/live` without a pause. Beside it,
trafilatura reads the same bytes, in a process of its own with the same time.
"""

import argparse
import multiprocessing
import resource
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from tests.doors.processes import Process, processes_in
from tests.doors.services import AS_ADMIN
from tests.memory import MemoryWatch
from tests.site.hostile import MAKERS
from tests.site.hostile_origin import hostile_origin

from bench.table import save, table, this_machine

MEBIBYTE: Final = 1024 * 1024
FORMATS: Final = ["markdown", "text", "html", "rawHtml", "links", "metadata"]
SETTINGS: Final = {"egress_allow": "127.0.0.1/32", "egress_ports": "*", "limit_admin": "1000000/60"}
SECONDS: Final = 10.0  # for the peer, as for a reading child
SETTLED: Final = 5.0
COLUMNS: Final = ("page", "bytes", "server MiB", "child MiB", "lag ms", "s", "answer", "peer MiB", "peer s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    size: int
    server: int  # mebibytes, at most
    child: int
    lag: float  # milliseconds, at worst, of the one who asks beside it
    seconds: float
    answer: str
    peer: int | None  # mebibytes
    peer_seconds: float | None


@dataclass(frozen=True, slots=True)
class Run:
    rows: list[Row]
    before: int  # mebibytes of the server
    after: int
    waits: list[float]  # seconds

    @property
    def lag(self) -> float:
        """Milliseconds within which 99.9 % were answered."""
        return round(sorted(self.waits)[int(len(self.waits) * 0.999)] * 1000, 1) if self.waits else 0.0


class Bystander:
    """Asks for next to nothing all the while."""

    def __init__(self, base: str) -> None:
        self.waits: list[float] = []
        self.stop = threading.Event()
        self._base = base

    def run(self) -> None:
        with httpx.Client(base_url=self._base, timeout=60) as client:
            while not self.stop.wait(0.002):
                began = time.monotonic()
                client.get("/health/live")
                self.waits.append(time.monotonic() - began)


def main() -> None:
    names = _options().pages or list(MAKERS)
    machine = this_machine()
    with (
        tempfile.TemporaryDirectory() as folder,
        hostile_origin() as origin,
        processes_in(Path(folder)) as start,
    ):
        run = _measure(start("gossamer", "serve", **SETTINGS), origin, names)
    text = _told(run, str(machine))
    print(text)
    told = [asdict(row) for row in run.rows]
    save("hostile", machine, text, {"before": run.before, "after": run.after, "p999": run.lag, "rows": told})


def _measure(server: Process, origin: str, names: list[str]) -> Run:
    port = server.line().partition("http://127.0.0.1:")[2].split()[0].strip("/")
    base = f"http://127.0.0.1:{port}"
    bystander, rows = Bystander(base), []
    client = httpx.Client(base_url=base, headers=AS_ADMIN, timeout=90)
    with client, MemoryWatch(server.process.pid) as watch:
        client.post("/fetch", json={"url": f"{origin}/long_attribute"})  # everything has been used once
        before = watch.now()
        threading.Thread(target=bystander.run, daemon=True).start()
        waits: list[float] = []
        for name in names:
            rows.append(_fetch(client, f"{origin}/{name}", name, watch, bystander))
            waits += bystander.waits
            print(*_cells(rows[-1]), flush=True)
        time.sleep(SETTLED)
        bystander.stop.set()
        return Run(rows, before // MEBIBYTE, watch.now() // MEBIBYTE, waits)


def _fetch(client: httpx.Client, url: str, name: str, watch: MemoryWatch, bystander: Bystander) -> Row:
    hostile = MAKERS[name]()
    peer, peer_seconds = _peer(name) if hostile.media_type == "text/html" else (None, None)
    watch.begin_anew()
    bystander.waits = []
    began = time.monotonic()
    response = client.post("/fetch", json={"url": url, "formats": FORMATS, "timeout": 60_000})
    return Row(
        name=name,
        size=len(hostile.body),
        server=watch.most // MEBIBYTE,
        child=watch.most_of_child // MEBIBYTE,
        lag=max(bystander.waits, default=0.0) * 1000,
        seconds=time.monotonic() - began,
        answer="page" if response.status_code == 200 else str(response.json()["code"]),
        peer=peer,
        peer_seconds=peer_seconds,
    )


def _peer(name: str) -> tuple[int, float]:
    """What trafilatura takes: mebibytes at most (0 where it had to be ended), and seconds."""
    context = multiprocessing.get_context("spawn")
    told = context.SimpleQueue()
    process = context.Process(target=_read_by_peer, args=(name, told))
    process.start()
    process.join(SECONDS + 5)
    if process.is_alive():
        process.kill()
        process.join()
    return (0, SECONDS) if told.empty() else told.get()


def _read_by_peer(name: str, told: Any) -> None:
    import trafilatura

    body, began = MAKERS[name]().body, time.monotonic()
    trafilatura.extract(body, output_format="markdown")
    told.put((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, time.monotonic() - began))


def _told(run: Run, machine: str) -> str:
    return (
        f"{table(COLUMNS, [_cells(row) for row in run.rows])}\n\nThe server has {run.before} MiB before and"
        f" {run.after} MiB after all of them. 99.9 % of {len(run.waits):,} requests beside them were answered"
        f" within {run.lag} ms. The peer is trafilatura; 0 MiB: it was ended.\n\n{machine}"
    )


def _cells(row: Row) -> list[str]:
    peer = ["", ""] if row.peer is None else [str(row.peer), f"{row.peer_seconds:.1f}"]
    ours = [str(row.server), str(row.child), f"{row.lag:,.0f}", f"{row.seconds:.1f}", row.answer]
    return [row.name, f"{row.size:,}", *ours, *peer]


def _options() -> argparse.Namespace:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="scripts/bench hostile", description=about)
    parser.add_argument("pages", nargs="*", help="only these")
    return parser.parse_args()


if __name__ == "__main__":
    main()
