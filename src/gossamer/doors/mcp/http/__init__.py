"""MCP over streamable HTTP: each request stands for itself, and any process answers it."""
