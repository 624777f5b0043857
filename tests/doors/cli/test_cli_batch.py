"""`gossamer batch`, as a person or a script would use it."""

import json
from pathlib import Path

from tests.doors.cli.commands import gossamer
from tests.doors.fetches import say
from tests.site.server import Site

OPEN = ("--egress-allow", "127.0.0.1/32", "--egress-ports", "*")
PROSE = "Orb weavers build a new web nearly every day, mostly at night. " * 10


def pages(site: Site) -> list[str]:
    return [site.url(say(f"<title>Page {number}</title><p>{PROSE}")) for number in range(3)]


def test_each_page_is_a_line_of_json(tmp_path: Path, site: Site) -> None:
    urls = pages(site)
    (tmp_path / "urls.txt").write_text("# which pages\n\n" + "\n".join([*urls, urls[0]]) + "\n")
    done = gossamer("batch", *OPEN, "urls.txt", "--format", "metadata", folder=tmp_path)
    lines = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda line: line["index"])
    assert [(line["index"], line["url"], line["status"]) for line in lines] == [
        (index, url, "done") for index, url in enumerate([*urls, urls[0]])
    ]
    assert [line["result"]["title"] for line in lines] == ["Page 0", "Page 1", "Page 2", "Page 0"]
    assert "content" not in lines[0]["result"]
    assert done.stderr == ""
    found = gossamer("search", "--format", "json", "orb weavers", folder=tmp_path).stdout.splitlines()
    assert {json.loads(line)["url"] for line in found} == set(urls)


def test_what_fails_is_a_line_too_and_the_exit_code_tells(tmp_path: Path, site: Site) -> None:
    gone = site.url(say("Gone", status="404 Not Found"))
    for urls, code in (([gone, *pages(site)], 3), (["nonsense", gone], 1)):
        (tmp_path / "urls.txt").write_text("\n".join(urls))
        done = gossamer("batch", *OPEN, "urls.txt", "-o", "results.jsonl", folder=tmp_path, check=False)
        assert (done.returncode, done.stdout) == (code, "")
        lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
        assert {line["index"] for line in lines} == set(range(len(urls)))
    assert {line["status"] for line in lines} == {"failed", "done"}
    (tmp_path / "urls.txt").write_text("# none\n")
    done = gossamer("batch", *OPEN, "urls.txt", folder=tmp_path, check=False)
    assert (done.returncode, "no URL" in done.stderr) == (2, True)


def test_urls_can_be_piped_in(tmp_path: Path, site: Site) -> None:
    options = ("--format", "llm", "--max-tokens", "200")
    done = gossamer("batch", *OPEN, "-", *options, folder=tmp_path, given="\n".join(pages(site)))
    results = [json.loads(line)["result"] for line in done.stdout.splitlines()]
    assert len(results) == 3
    assert all(result["untrusted"] and result["llm"]["tokens"] <= 200 for result in results)
