"""The pages of memory."""
