"""The HTTP door: a server, a list of layers, and the endpoints inside them."""
