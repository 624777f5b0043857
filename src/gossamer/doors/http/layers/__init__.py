"""The layers around every endpoint, each plain ASGI. `gossamer.assembly.layers` lists them in order.

Limits fit what a request costs, in two steps, because only the cache knows whether a request is a hit.
`limiting` counts every request that a cache may answer as a hit. Before work begins that the cache could
not answer, the endpoint or its flow calls `exchange.admit_work`: the request is counted as work and the hit
is given back, or it is refused and stays a hit. A request that waits for another's fetch of the same page
causes no work. All windows are exact, so no order of these steps admits more than a policy allows.

Back-off pauses the requests that fail, not the caller. Failures in a row are counted by caller, by kind, and
by endpoint or host. A good request is never delayed: during a pause, the next failure of the same kind is
answered with the pause. A host that does not answer is refused after the lookup in the cache, where work is
admitted.
"""
