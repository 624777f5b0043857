"""Job queues under measurement: programs that their own interpreters run. See `script`."""
