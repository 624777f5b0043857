"""Small mechanisms for concurrent work: single flight, coalescer, periodic loop, breaker."""
