"""The door for clients of Tavily: `/tavily` in place of its address.

`bodies` has what its clients send, `patterns` turns their expressions into ours, `dialect` tells errors, and
`door` has the routes.
"""
