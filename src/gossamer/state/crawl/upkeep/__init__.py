"""What operators do with stored pages: archives, replays, and counts that are counted again."""
