"""A small bookshop on loopback: pages worth crawling, with a few defects worth finding."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SUBJECTS = ("Spiders", "Lighthouses", "Bridges", "Orchards", "Maps", "Rivers", "Clocks", "Gardens")
TITLES = ("A Field Guide to {}", "The Quiet History of {}", "{} of the North", "On Keeping {}", "{}, Drawn")
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="description" content="{about}"><link rel="canonical" href="{path}"></head>
<body><header><a href="/">Lantern Books</a> <a href="/books">Books</a> <a href="/events">Events</a></header>
<main><h1>{heading}</h1>{body}</main><footer><a href="/imprint">Imprint</a></footer></body></html>"""
TEXT = (
    "<p>Lantern Books has sold new and used books on the corner of Mill Street since 1974. Every volume on "
    "our shelves was read by somebody who works here, and the note inside the cover says what they thought "
    "of it.</p><p>{}</p><p>Orders before noon leave the shop on the same day. We wrap them in paper, and we "
    "answer letters.</p>"
)


def books() -> Iterator[tuple[str, str]]:
    for number, subject in enumerate(SUBJECTS * len(TITLES)):
        title = TITLES[number // len(SUBJECTS)].format(subject)
        yield f"/books/{title.lower().replace(' ', '-').replace(',', '')}", title


def pages() -> dict[str, bytes]:
    shelf = "".join(f'<li><a href="{path}">{title}</a></li>' for path, title in books())
    found = {
        "/": _page("/", "Lantern Books", "Books, and people who read them", "We read all of it."),
        "/books": _page("/books", "All books", "All books", "Forty of them.", more=f"<ul>{shelf}</ul>"),
        "/events": _page("/events", "Events", "Evenings at the shop", "Readings every Thursday."),
        "/imprint": _page("/imprint", "Imprint", "Imprint", "Write to us.", about=""),
        "/hostile": _page("/hostile", "&lt;script&gt;alert(1)&lt;/script&gt;", "Bold", "\"'<i>&amp;"),
    }
    for path, title in books():
        story = f"{title} has two hundred pages, thirty drawings and one very good index. It costs 24 euros."
        found[path] = _page(path, title, title, story, more='<p><a href="/books/sold-out">Next</a></p>')
    return found


def _page(
    path: str,
    title: str,
    heading: str,
    story: str,
    *,
    about: str = "A page of Lantern Books.",
    more: str = "",
) -> bytes:
    body = TEXT.format(story) + more
    return PAGE.format(title=title, about=about, path=path, heading=heading, body=body).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    content = pages()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/robots.txt":
            self._answer(200, b"User-agent: *\nDisallow: /private\nSitemap: /sitemap.xml\n", "text/plain")
        elif path == "/sitemap.xml":
            host = self.headers["Host"]
            urls = "".join(f"<url><loc>http://{host}{path}</loc></url>" for path in self.content)
            head = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            self._answer(200, f"{head}{urls}</urlset>".encode(), "application/xml")
        elif path in self.content:
            self._answer(200, self.content[path], "text/html; charset=utf-8")
        else:
            self._answer(404, b"<title>Not here</title><p>Sold out.", "text/html; charset=utf-8")

    def _answer(self, status: int, body: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:  # type: ignore[override]
        """Quiet."""


@contextmanager
def open_shop() -> Iterator[int]:
    """The port that the shop listens on."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
