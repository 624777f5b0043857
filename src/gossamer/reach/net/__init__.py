"""Names and sockets. `dial` is the only place where a name becomes a socket, and it judges every address
first.
"""
