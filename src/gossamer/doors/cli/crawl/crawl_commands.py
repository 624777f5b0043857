"""`gossamer crawls`: the group with all of its commands, which are in three modules."""

from gossamer.doors.cli.crawl import crawl_files, crawl_freshness
from gossamer.doors.cli.crawl.crawls import crawls_group

__all__ = ["crawl_files", "crawl_freshness", "crawls_group"]
