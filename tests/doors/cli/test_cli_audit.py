"""`gossamer audit` and `gossamer worker` as a person or a pipeline would use them."""

import json
import signal
from pathlib import Path

import httpx
import pytest
from tests.doors.cli.commands import gossamer
from tests.doors.crawls import page
from tests.doors.fetches import say
from tests.doors.processes import Start
from tests.doors.services import ADMIN_KEY, bearer
from tests.site.server import Site

OPEN = ("--egress-allow", "127.0.0.0/8", "--egress-ports", "*", "--max-links", "0")
WORDS = "Words. " * 300
PAGE = say(
    f"<html lang=en><meta name=robots content=noindex><title>A page</title><h1>A page</h1><p>{WORDS}</p>"
)


def test_a_report_in_a_pipe_is_plain_text(tmp_path: Path, site: Site) -> None:
    done = gossamer("audit", *OPEN, site.url(PAGE), folder=tmp_path, check=False)
    assert done.returncode == 3  # it asks not to be indexed, which is critical
    assert "of 100" in done.stdout
    assert "noindex" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(("level", "code"), [("never", 0), ("minor", 3), ("critical", 3)])
def test_the_exit_code_follows_the_severity(tmp_path: Path, site: Site, level: str, code: int) -> None:
    done = gossamer("audit", *OPEN, "--fail-on", level, site.url(PAGE), folder=tmp_path, check=False)
    assert done.returncode == code


def test_json_and_html(tmp_path: Path, site: Site) -> None:
    arguments = ("audit", *OPEN, "--fail-on", "never", site.url(PAGE))
    report = json.loads(gossamer(*arguments, "--format", "json", folder=tmp_path).stdout)
    assert report["page"]["finalUrl"] == site.url(PAGE)
    assert {finding["id"] for finding in report["findings"]} >= {"noindex", "description-missing"}
    gossamer(*arguments, "--format", "html", "-o", "report.html", folder=tmp_path)
    assert "<title>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("shape", ["text", "json", "html"])
def test_the_folder_of_a_report_is_made(tmp_path: Path, site: Site, shape: str) -> None:
    arguments = ("audit", *OPEN, "--fail-on", "never", "--format", shape, site.url(PAGE))
    gossamer(*arguments, "-o", "new/folder/report", folder=tmp_path)
    assert (tmp_path / "new" / "folder" / "report").stat().st_size > 1_000


def test_where_nothing_can_be_written_it_is_said_before_the_work(tmp_path: Path, site: Site) -> None:
    target = say("never asked for")
    (tmp_path / "file").touch()
    for command in ("audit", "render", "screenshot", "pdf"):
        output = "file/below.png"
        done = gossamer(command, *OPEN[:4], site.url(target), "-o", output, folder=tmp_path, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert output in done.stderr
    assert not site.seen(target)


@pytest.mark.parametrize("arguments", [("--format", "json"), ()], ids=["much", "little"])
def test_an_output_that_is_full_is_one_line(tmp_path: Path, site: Site, arguments: tuple[str, ...]) -> None:
    for command in (("audit", *OPEN, "--fail-on", "never", site.url(PAGE), *arguments), ("config",)):
        done = gossamer(*command, folder=tmp_path, check=False, output=Path("/dev/full"))
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "the output cannot be written: No space left" in done.stderr


@pytest.mark.parametrize(
    ("url", "words"),
    [("http://localhost/", "not allowed"), ("nonsense", "URL"), ("http://127.0.0.1:1/", "refused")],
)
def test_what_cannot_be_audited_is_one_line(tmp_path: Path, url: str, words: str) -> None:
    done = gossamer("audit", *OPEN, url, folder=tmp_path, check=False)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_worker_of_its_own_does_the_work(start_gossamer: Start, processes: Start, site: Site) -> None:
    server = start_gossamer(serve_worker="no", egress_allow="127.0.0.0/8", egress_ports="*")
    client = httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers=bearer(ADMIN_KEY))
    accepted = client.post("/audits", json={"url": site.url(PAGE), "options": {"maxLinks": 0}}).json()
    assert client.get(accepted["statusUrl"]).json()["status"] == "queued"
    kinds = ("--kinds", "site_audit,audit", "--kinds", "audit")
    worker = processes("gossamer", "worker", *kinds, egress_allow="127.0.0.0/8", egress_ports="*")
    assert worker.line().endswith(": site_audit, audit")
    stream = {"Accept": "text/event-stream"}
    assert "done" in client.get(accepted["eventsUrl"], headers=stream, timeout=30).text
    assert client.get(accepted["statusUrl"]).json()["status"] == "done"
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(timeout=20) == 0
    client.close()


def test_a_site_is_crawled_audited_kept_and_compared(tmp_path: Path, site: Site) -> None:
    leaf = page("A leaf", "/status/404?linked")
    root = page("The root", leaf, page("A twig"))
    arguments = (
        "audit",
        *OPEN,
        "--crawl-delay",
        "0",
        "--max-pages",
        "20",
        "--fail-on",
        "never",
        site.url(root),
    )
    report = json.loads(gossamer(*arguments, "--format", "json", folder=tmp_path).stdout)
    assert (report["site"]["start"], report["site"]["pages"]) == (site.url(root), 3)
    assert report["site"]["isComplete"]
    assert report["comparison"] is None
    assert {finding["id"] for finding in report["findings"]} >= {"viewport-missing", "site-links-broken"}
    again = gossamer(*arguments, folder=tmp_path)
    assert "Since the last audit" in again.stdout
    assert "0 fixed, 0 new" in again.stdout
    assert "\x1b" not in again.stdout + again.stderr
    gossamer(*arguments, "--format", "html", "-o", "report.html", folder=tmp_path)
    assert "Since the last audit" in (tmp_path / "report.html").read_text()
