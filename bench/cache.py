"""The page cache: hot hits beside nginx, and how long each operation of the render API takes.

The cache is filled through the API, by a real browser, with pages of a local origin.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench import cache_hits, cache_pages, cache_times, servers
from bench.apps import site
from bench.cache_hits import Plan
from bench.cache_requests import TRAFFIC
from bench.cache_times import Bench, Setup
from bench.jobs import DurableServer
from bench.table import save, this_machine

ROUNDS: Final = 3


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    machine, cores = this_machine(), servers.share_cores()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        cache_pages.write(folder / "origin")
        origin = stack.enter_context(site.serving(folder / "origin"))
        plan = Plan(options.rounds, options.seconds, options.sizes, options.traffic)
        hits = cache_hits.measure(folder, origin, cores, plan)
        found = {}
        for number, setup in enumerate(_setups(stack) if options.pages else ()):
            bench = Bench(setup, folder / f"times-{number}", origin, options.pages, options.rate)
            found[setup.name] = bench.run()
    beside_nginx = cache_hits.report(hits, options.rounds, options.seconds)
    operations = cache_times.report(found, options.pages, options.rate) if found else ""
    text = f"# The page cache\n\n{machine}\n\n{beside_nginx}\n\n{operations}\n"
    print(text)
    load = {name: getattr(options, name) for name in ("rounds", "seconds", "pages", "rate")}
    document = {"load": load, "hits": cache_hits.document(hits), "times": cache_times.document(found)}
    if _is_whole(options):
        save("cache", machine, text, document)


def _is_whole(options: argparse.Namespace) -> bool:
    """Whether all was measured, often enough."""
    everything = (set(TRAFFIC), set(cache_pages.SIZES))
    return (
        options.rounds >= ROUNDS
        and options.pages > 0
        and (set(options.traffic), set(options.sizes)) == everything
    )


def _setups(stack: ExitStack) -> list[Setup]:
    postgres = DurableServer()
    stack.callback(postgres.remove)
    postgres.start()
    postgres.sql("CREATE DATABASE cache")
    valkey = stack.enter_context(servers.valkey())
    server = {"GOSSAMER_DATABASE_URL": postgres.url_of("cache"), "GOSSAMER_REDIS_URL": valkey}
    return [Setup("embedded", {}), Setup("PostgreSQL + Valkey", server, valkey)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench cache", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of hot hits beside nginx")
    parser.add_argument("--seconds", type=int, default=3, help="of load, per round and contender")
    parser.add_argument(
        "--pages", type=int, default=100, help="that are rendered, served and dropped; 0: hot hits alone"
    )
    sizes = list(cache_pages.SIZES)
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=sizes, choices=sizes, help="bytes of hot hits"
    )
    parser.add_argument("--traffic", nargs="+", default=list(TRAFFIC), choices=list(TRAFFIC))
    parser.add_argument("--rate", type=float, default=1.0, help="fresh renders per second")
    return parser.parse_args()


if __name__ == "__main__":
    main()
