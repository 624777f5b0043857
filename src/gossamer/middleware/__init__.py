"""Middleware for your own site: robots that run no scripts get pages rendered by Gossamer.

    from gossamer.middleware.asgi import ServeBotsAsgi      # Starlette, FastAPI, Django, Quart…
    from gossamer.middleware.wsgi import ServeBotsWsgi      # Flask, Django, Pyramid…

    app = ServeBotsAsgi(app, url="https://gossamer.example", key="sk_live_…", origin="https://www.example.com")

Only the standard library and the list of robots are imported: nothing of the server. If anything fails, the
site itself answers, within the deadline. After a few failures it answers at once, until Gossamer is back.
"""
