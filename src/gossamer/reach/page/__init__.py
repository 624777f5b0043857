"""One page in a browser: open it, decide when it is complete, and take its HTML, picture or PDF."""
