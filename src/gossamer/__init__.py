"""Gossamer: self-hosted web access for AI agents, bots and the teams that serve them."""

__version__ = "0.1.0"
