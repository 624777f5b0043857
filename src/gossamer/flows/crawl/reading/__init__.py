"""What crawls have stored, for those who read it: pages, their content, and the links between them."""
