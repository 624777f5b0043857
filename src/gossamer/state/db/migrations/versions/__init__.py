"""How the schema came to be, one revision at a time."""
