"""Alerts: what somebody should look at.

1. `situation` looks at the services, the database, the disks and the certificates.
2. `rules` says what is wrong about that, in one table.
3. `evaluator` does both every few seconds, in one process at a time, and stores what changed.
4. What was raised or resolved is queued as webhooks in the same transaction; `flows/webhooks` delivers them.
5. `alerts` shows and acknowledges them. `prometheus` and `grafana` say the same for those tools.
"""
