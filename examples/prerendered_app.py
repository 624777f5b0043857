"""A single-page application that bots can read: they get the pages as Gossamer has rendered them.

People get the application as it is. If Gossamer is away, everybody does. The same works with WSGI, Express,
Next.js, nginx and Cloudflare Workers: see docs/integrations.

    pip install gossamer
    export GOSSAMER_SERVER=http://127.0.0.1:8080 GOSSAMER_KEY=sk_live_…
    python prerendered_app.py 8000 http://127.0.0.1:8000     # the port, and the public address of the site
    curl -A Googlebot http://127.0.0.1:8000/products/rope

A Gossamer on your machine visits a site on your machine only if it may: GOSSAMER_EGRESS_ALLOW=127.0.0.1/32
and GOSSAMER_EGRESS_PORTS=8000.
"""

import os
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from gossamer.middleware.asgi import ServeBotsAsgi

SHELL = """<!doctype html><html lang="en"><title>Ropes</title><div id="app"></div><script type="module">
const name = location.pathname.split("/").pop();
const product = await (await fetch("/api/products/" + encodeURIComponent(name))).json();
document.title = product.name;
const heading = document.createElement("h1");
heading.textContent = product.name;
const text = document.createElement("p");
text.textContent = product.text + " It costs " + product.price + ".";
document.getElementById("app").append(heading, text);
</script></html>"""
PRODUCTS = {
    "rope": {"name": "Silk rope", "price": "$12", "text": "Ten metres, spun by hand, and wound on a reel."},
    "net": {"name": "Silk net", "price": "$80", "text": "Two metres by three, knotted by hand."},
}


async def show_shell(request: Request) -> Response:
    return HTMLResponse(SHELL, 200 if request.path_params["name"] in PRODUCTS else 404)


async def show_product(request: Request) -> Response:
    product = PRODUCTS.get(request.path_params["name"])
    return JSONResponse(product or {"name": "Not found", "text": "", "price": ""}, 200 if product else 404)


def build(origin: str) -> ServeBotsAsgi:
    return ServeBotsAsgi(
        Starlette(
            routes=[Route("/products/{name}", show_shell), Route("/api/products/{name}", show_product)]
        ),
        url=os.environ.get("GOSSAMER_SERVER", "http://127.0.0.1:8080"),
        key=os.environ["GOSSAMER_KEY"],
        origin=origin,
        wait=20,  # seconds that the first bot waits for a page; others get it from the cache
        exclude=("/api/",),
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    uvicorn.run(build(origin=sys.argv[2]), host="127.0.0.1", port=int(sys.argv[1]))
