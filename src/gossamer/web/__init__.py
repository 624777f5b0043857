"""What the web means: rules and nouns that do no I/O and know no clock and no settings."""
