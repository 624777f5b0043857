"""Measurements of Gossamer beside its peers. `scripts/bench` lists them, `scripts/bench NAME` runs one."""
