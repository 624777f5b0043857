"""Memory over HTTP: entries, pages by their address, search, export and deletion."""
