"""Sites of their owners: proven, kept warm, and reported on."""
