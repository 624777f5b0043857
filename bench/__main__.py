"""Lists the benches: every module here that has a `main`."""

import importlib
import pkgutil

import bench


def main() -> None:
    print("scripts/bench NAME [--help]\n")
    for found in pkgutil.iter_modules(bench.__path__):
        if found.name == "__main__":
            continue
        module = importlib.import_module(f"bench.{found.name}")
        if hasattr(module, "main"):
            summary = (module.__doc__ or "").partition("\n")[0]
            print(f"  {found.name:<10} {summary}")


if __name__ == "__main__":
    main()
