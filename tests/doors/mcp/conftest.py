"""Tests of MCP share one server in a module."""

from tests.doors.mcp.ground import ground
from tests.pay.conftest import loopback_only

__all__ = ["ground", "loopback_only"]
