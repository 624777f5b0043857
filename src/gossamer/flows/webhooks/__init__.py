"""Webhooks: telling another program what happened here, signed, and again until it has heard it.

1. Whatever ends or changes publishes an event in its own transaction (`state/webhooks/publishing`).
2. `registry` lets callers register endpoints, and look at what they were sent; `subscribing` binds one to a
   crawl or a batch that is asked for with it.
3. `delivery` takes what is due in any process. `composing` writes each event in the shape that its receiver
   reads, `signing` signs it as Standard Webhooks say, and `sending` posts it through the dialer, so the fence
   holds. A receiver that does not answer 2xx is tried again.
"""
