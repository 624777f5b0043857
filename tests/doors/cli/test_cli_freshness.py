"""`gossamer crawls freshness|versions|diff` on the data of this machine."""

import asyncio
import json
import re
from pathlib import Path

from tests.doors.cli.commands import gossamer
from tests.doors.crawls import OPEN
from tests.doors.living_site import crawl_of, living_site, refresh
from tests.doors.services import Visiting


async def test_freshness_is_shown_and_changed_and_versions_are_compared(
    visiting: Visiting, tmp_path: Path
) -> None:
    async with visiting(**OPEN) as visit, living_site() as site:
        crawl_id = await crawl_of(visit, site, sitemaps=False)
        site.write("/a", "About aphids. " + "They suck on plants all day, and ants milk them. " * 20)
        await refresh(visit, crawl_id)
    await asyncio.to_thread(_look, tmp_path, crawl_id)


def _look(folder: Path, crawl_id: str) -> None:
    def run(*arguments: str) -> str:
        return gossamer("crawls", *arguments, folder=folder).stdout

    assert re.search(r"pages +3\n", run("freshness", crawl_id))
    changed = json.loads(run("freshness", crawl_id, "--budget", "7", "--json"))
    assert (changed["pages"], changed["month"]["changed"]) == (3, 1)
    assert re.search(r"of 7 for each host", run("freshness", crawl_id))
    pages = [json.loads(line) for line in run("pages", crawl_id).splitlines()]
    page = next(one["pageId"] for one in pages if one["url"].endswith("/a"))
    assert re.search(r"\n2 +changed .*\n1 +new ", run("versions", crawl_id, page))
    assert "About ants." in run("versions", crawl_id, page, "1")
    assert "-About ants." in run("diff", crawl_id, page, "1")
    assert run("freshness", crawl_id, "--off") == "It is not kept fresh. --on changes that.\n"
