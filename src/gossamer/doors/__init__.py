"""How callers arrive: over HTTP, on the command line, as a worker. Doors decode, call one flow, encode."""
