"""What operators repair and look into: replays, counts, the search index, blobs, and who uses how much."""
