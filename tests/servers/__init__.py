"""Real servers for tests, started on loopback and gone afterwards."""
