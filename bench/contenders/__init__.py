"""What the fetch bench compares: each contender in a process of its own, told over a pipe what to read."""
