"""For people's own sites: robots that run no scripts get the page as Gossamer rendered it, people the site.

    from gossamer.middleware.asgi import ServeBots      # Starlette, FastAPI, Django, Quart…
    from gossamer.middleware.wsgi import ServeBots      # Flask, Django, Pyramid…

    app = ServeBots(app, url="https://gossamer.example", key="sk_live_…", origin="https://www.example.com")

Only the standard library and the list of robots are imported: nothing of the server. Whatever goes wrong, the
site itself answers, within the deadline; and after a few failures at once, until Gossamer is back.
"""
