"""Payments on the wire: x402, EVM and Solana."""
