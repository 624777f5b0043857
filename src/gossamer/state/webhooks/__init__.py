"""Webhooks in the database.

1. Whatever ends or changes calls `publish` in its own transaction. It looks up who listens (`endpoints`), and
   queues one delivery for each (`deliveries`).
2. Jobs and crawls end in many ways, also with a worker that dies. The statement that ends one leaves a row in
   `ended_work` if anybody of its tenant listens; a sweep publishes it and removes the row.
"""
