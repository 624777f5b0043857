"""The pages to start from: the overview, the playground, search, and health."""
