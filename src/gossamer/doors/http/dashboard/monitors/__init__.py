"""The pages of monitors."""
