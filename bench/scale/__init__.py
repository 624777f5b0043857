"""A model of large crawls: from measured costs to machines, money and days. `scripts/scale` prints it."""
