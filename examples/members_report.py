"""Pictures of pages behind a login: signs in with steps in a browser, and writes a report with screenshots.

Adapt `sign_in` to the site. The name and the password come from the environment. Each screenshot is a visit
of its own that brings the cookies of the sign-in.

    export GOSSAMER_SERVER=http://127.0.0.1:8080 GOSSAMER_KEY=sk_live_… SITE_USER=… SITE_PASSWORD=…
    python members_report.py report/ https://app.example.com/login https://app.example.com/orders …
"""

import os
import sys
from html import escape
from pathlib import Path
from typing import Any

import gossamer


def sign_in(user: str, password: str) -> list[dict[str, Any]]:
    return [
        {"type": "type", "selector": "input[name=user]", "text": user},
        {"type": "type", "selector": "input[name=password]", "text": password},
        {"type": "click", "selector": "button[type=submit]"},
        {"type": "wait", "selector": "#welcome"},
    ]


def main(folder: Path, login: str, urls: list[str]) -> int:
    server = os.environ.get("GOSSAMER_SERVER", "http://127.0.0.1:8080")
    folder.mkdir(parents=True, exist_ok=True)
    rows, failed = [], 0
    with gossamer.connect_sync(server, key=os.environ.get("GOSSAMER_KEY")) as web:
        steps = sign_in(os.environ["SITE_USER"], os.environ["SITE_PASSWORD"])
        entered = web.fetch(login, render="always", actions=steps, return_cookies=True)
        cookies = entered.cookies or ()
        print(f"signed in: {entered.title}, {len(cookies)} cookies")
        for number, url in enumerate(urls, 1):
            try:
                shot = web.screenshot(url, cookies=cookies, full_page=True)
            except gossamer.GossamerError as error:
                print(f"{url}: {error}", file=sys.stderr)
                failed += 1
                continue
            name = f"{number:03}.{shot.format}"
            (folder / name).write_bytes(shot.image)
            failed += shot.outcome != "ok"  # such as `login_required`
            size = f"{shot.dimensions.width}×{shot.dimensions.height}"  # noqa: RUF001  (as sizes are written)
            print(f"{shot.outcome} {shot.status} {size} {shot.title} {url}")
            rows.append(f'<h2>{escape(shot.title)}</h2><p>{escape(url)}</p><img src="{name}" width="640">')
    page = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pages</title>' + "\n".join(rows)
    (folder / "index.html").write_text(page, "utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    try:
        sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
    except gossamer.GossamerError as error:  # such as a step of the sign-in that failed
        sys.exit(str(error))
