"""The hot store: memory or Redis behind one interface, with our own RESP client."""
