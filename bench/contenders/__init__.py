"""What the fetch and render benches compare: each in a process of its own, told over a pipe what to read."""
