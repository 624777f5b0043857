"""Raises the limit on file descriptors, of which every connection takes one."""

import resource
from typing import Final

from gossamer.observe.logs import Log

MAX_DESCRIPTORS: Final = 1_048_576  # more would only waste memory
LOW: Final = 4_096


def raise_limit(log: Log) -> None:
    """Raise the soft limit to the hard one. Log a low limit, with the remedy."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    else:
        wanted = soft
    if 0 <= wanted < LOW:
        log.warning(
            "few_descriptors",
            f"only {wanted} files and connections can be open at a time; raise ulimit -Hn or LimitNOFILE",
            limit=wanted,
        )
