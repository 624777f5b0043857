"""`gossamer mcp`: MCP over standard input and output."""
