"""What the markup says: document, content, images, links, sharing, structured data."""
