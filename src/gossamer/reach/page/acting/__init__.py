"""What a caller has a browser do on a page: by mouse, by keys and by scripts."""
