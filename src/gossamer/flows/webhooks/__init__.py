"""Webhooks: telling another program what happened here, signed, and again until it has heard it.

1. Alerts queue what changed in their own transaction (`state/operations/webhook_deliveries`).
2. Whoever starts a crawl or a batch can subscribe to its events (`subscribing`); they are queued in the
   transactions that start it and store its pages (`state/operations/subscriptions`).
3. `delivery` takes what is due in any process, and sends it through the dialer, so the fence holds.
   `work_sender` writes events of subscriptions in the shape that their receiver reads.
4. `signing` signs it as Standard Webhooks say. A receiver that does not answer 2xx is tried again.
"""
