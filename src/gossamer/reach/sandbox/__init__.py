"""The layers that confine a browser: Chromium's own sandbox, a network namespace, bubblewrap.

Layers are probed, not fallen back from. Before the first launch a probe starts the processes that a browser
would have around it and finds out which layers the system allows. A launch has exactly these layers or
fails. A layer that was in force once is never given up while the process lives; a missing one is probed
again before every launch.

The network namespace needs no relay: the process that becomes the browser opens a port in its empty network
and hands the listening socket out, so the proxy accepts directly what connects inside.
"""
