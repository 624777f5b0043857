"""Blobs: bytes by name, in a folder or in S3."""
