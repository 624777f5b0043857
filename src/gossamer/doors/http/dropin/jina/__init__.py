"""The door for clients of Jina Reader: a page as text at `/r/{url}`, a search at `/s/{query}`.

`target` finds the URL in the path, `options` reads headers and body, `reading` asks our API and shapes the
page, `dialect` tells errors, and `door` has the routes.
"""
