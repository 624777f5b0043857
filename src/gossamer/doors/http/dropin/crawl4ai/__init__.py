"""The door for clients of Crawl4AI's server.

`configs` reads the configuration objects that its clients send, `results` shapes pages, `extraction` turns
its schemas into ours, `dialect` tells errors, and `door` has the routes.
"""
