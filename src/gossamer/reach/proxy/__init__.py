"""The proxy that is a browser's only way out. It dials through `reach.net.dial` and counts by visit."""
