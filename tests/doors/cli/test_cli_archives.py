"""`gossamer crawls import`, and what can be done with such a crawl on the command line, without a network."""

import json
from pathlib import Path

from tests.doors.cli.commands import gossamer
from tests.web.documents.warc.test_warc import HTML, page_of, read, written

CLOSED = ("--egress-ports", "1")


def test_a_file_becomes_a_crawl_that_is_audited_and_exported(tmp_path: Path) -> None:
    whole, _ = written(page_of("https://a.test/"), page_of("https://a.test/2", HTML + b" again"))
    (tmp_path / "site.warc.gz").write_bytes(whole)
    done = gossamer("crawls", "import", "site.warc.gz", folder=tmp_path)
    crawl_id, _, told = done.stdout.partition("  ")
    assert told == "2 pages\n"
    audit = (
        "audit",
        "https://a.test/2",
        "--crawl",
        crawl_id,
        *CLOSED,
        "--format",
        "json",
        "--fail-on",
        "never",
    )
    report = json.loads(gossamer(*audit, folder=tmp_path).stdout)
    assert (report["page"]["status"], report["page"]["url"]) == (200, "https://a.test/2")
    gossamer("crawls", "export", crawl_id, "-o", "again.wacz", folder=tmp_path)
    again = read((tmp_path / "again.wacz").read_bytes(), tmp_path)
    assert [one.page.url for one in again] == ["https://a.test/", "https://a.test/2"]
    (tmp_path / "cut.warc.gz").write_bytes(whole[:-40])
    refused = gossamer("crawls", "import", "cut.warc.gz", folder=tmp_path, check=False)
    assert (refused.returncode, "It is damaged." in refused.stderr) == (1, True), refused.stderr
