"""How a host is treated: robots.txt, pace, and how many requests one address gets at once."""
