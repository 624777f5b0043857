"""How a page is delivered: status, address, security, speed."""
