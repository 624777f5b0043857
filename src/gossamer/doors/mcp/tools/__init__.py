"""The tools, by what they work on."""
