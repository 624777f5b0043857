"""Paying for real: real clients, real signatures, real settlement, on chains that live in the test."""
