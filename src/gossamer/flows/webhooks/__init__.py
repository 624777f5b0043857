"""Webhooks: telling another program what happened here, signed, and again until it has heard it.

1. Whoever has something to tell queues it in its own transaction (`state/operations/webhook_deliveries`).
2. `delivery` takes what is due in any process, and sends it through the dialer, so the fence holds.
3. `signing` signs it as Standard Webhooks say. A receiver that does not answer 2xx is tried again.
"""
