"""How the parts become one service: the choices of settings, the routes, the layers, the workers."""
