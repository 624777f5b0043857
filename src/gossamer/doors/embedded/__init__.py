"""The engine in this process: calls of the library and of the command line that need no server."""
