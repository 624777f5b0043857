"""The library: one interface to a server, over HTTP or in the same process."""
