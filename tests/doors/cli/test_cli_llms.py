"""`gossamer llms`: a guide to a site."""

from pathlib import Path

from tests.doors.cli.commands import gossamer
from tests.doors.crawls import ROBOTS, page
from tests.doors.fetches import say
from tests.site.server import Site

OPEN = ("--egress-allow", "127.0.0.1/32", "--egress-ports", "*", "--crawl-delay", "0")


def test_a_site_is_read_politely_and_described(tmp_path: Path, site: Site) -> None:
    origin = site.origins(1)[0]
    closed, hidden = page("Closed"), say("<meta name=robots content=noindex><title>Hidden</title>")
    leaf = page("A leaf")
    root = page("The root", leaf, closed, hidden, "/not-there")
    ROBOTS[origin.removeprefix("http://")] = f"User-agent: *\nDisallow: {closed}\n"
    done = gossamer("llms", *OPEN, origin + root, folder=tmp_path)
    lines = sorted(f"- [{name}]({origin}{path})" for name, path in (("The root", root), ("A leaf", leaf)))
    head, *listed = [line for line in done.stdout.splitlines() if line and not line.startswith("##")]
    assert head == "# The root"
    assert sorted(listed) == lines
    assert not site.seen(closed)
    file = tmp_path / "site" / "llms-full.txt"
    gossamer("llms", *OPEN, "--full", "-o", str(file), origin + root, folder=tmp_path)
    assert file.read_text().count("<!-- end ") == 2
    assert "Orb weavers build" in file.read_text()


def test_a_site_without_pages_is_told(tmp_path: Path, site: Site) -> None:
    origin = site.origins(1)[0]
    ROBOTS[origin.removeprefix("http://")] = "User-agent: *\nDisallow: /\n"
    nothing = gossamer("llms", *OPEN, f"{origin}/", folder=tmp_path, check=False)
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert "robots.txt" in nothing.stderr
    wrong = gossamer("llms", *OPEN, "http://127.0.0.1:9/", folder=tmp_path, check=False)
    assert (wrong.returncode, "robots.txt" in wrong.stderr) == (1, True)
