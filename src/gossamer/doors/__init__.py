"""How callers arrive. No decisions of their own."""
