"""An audit of a site as a step of CI: prints what search engines and agents would stumble over, worst first.

It exits with 1 if the score is below --min-score or a finding is as bad as --fail-on. It needs no server, so
a preview of the site that runs in the same job can be audited: allow it with
GOSSAMER_EGRESS_ALLOW=127.0.0.1/32 and GOSSAMER_EGRESS_PORTS=*.

    pip install gossamer
    python site_audit.py https://www.example.com/ --max-pages 50 --min-score 80 --fail-on serious
"""

import argparse
import sys

import gossamer

SEVERITIES = ("critical", "serious", "moderate", "minor")  # the worst first
SHOWN = 3  # pieces of evidence of each finding


def main(url: str, max_pages: int, min_score: int, fail_on: str) -> int:
    with gossamer.open_sync() as web:
        report = web.audit(url, max_pages=max_pages) if max_pages else web.audit(url)
    score = report.score or 0
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    failures = [finding for finding in report.findings if finding.severity in bad]
    for finding in report.findings:
        if finding.severity not in SEVERITIES:
            continue
        mark = "FAIL" if finding in failures else "warn"
        where = f" on {finding.pages} pages" if finding.pages > 1 else ""
        print(f"{mark} {finding.severity:9} {finding.title}{where}")
        for place in finding.evidence[:SHOWN]:
            print(f"     {place}")
        print(f"     Fix: {finding.fix}")
    print(f"{url}: score {score} of 100, {len(failures)} findings that fail the build")
    return 1 if failures or score < min_score else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--max-pages", type=int, default=0, help="of the site; 0 audits one page")
    parser.add_argument("--min-score", type=int, default=70)
    parser.add_argument("--fail-on", choices=SEVERITIES, default="critical")
    given = parser.parse_args()
    try:
        sys.exit(main(given.url, given.max_pages, given.min_score, given.fail_on))
    except gossamer.GossamerError as error:
        sys.exit(f"{given.url} could not be audited. {error}")
