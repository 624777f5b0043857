"""What the pages share: the frame around them, forms, formats and assets."""
