"""MCP: tools for agents, over streamable HTTP at `/mcp`, and over standard input and output.

    message ─▶ http/endpoint or stdio/serving ─▶ server (the official SDK) ─▶ tools ─▶ own_api ─▶ our API

The SDK reads and writes the protocol. A tool is a declaration (`tools/tool`) and a function that calls our
own API through a `Transport`, so that keys, limits, payments, the cache and the log are the same as for
everybody. Modules that `gossamer mcp` imports before its first answer import nothing heavy.
"""
