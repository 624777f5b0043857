"""The connection: accept, bound, parse, and answer repeated hits on a fast path.

Bounds: 8 KiB of URL (414), 64 KiB and 100 fields of headers (431), 10 seconds for the head and for each 10
kB of the body (408). A refusal is handed to the application like a request, so it has an id, a log line,
its count against the limits, and a problem document.

A proxy in front and this server never disagree about a request (`framing`). Anything that can be read in
two ways is refused with 400 and ends the connection: a missing or second `Host`, `Content-Length` beside
`Transfer-Encoding`, any coding but `chunked`, chunks in HTTP/1.0, bare line ends, folded lines. Trailers
are dropped, so a body cannot add to the `X-Forwarded-For` that a proxy wrote. An upgrade is ignored, and
its body is read as a body.

One turn of the event loop does a bounded amount of work: 4 KiB are parsed at a time, which may be hundreds
of one-byte chunks. A body whose framing is more than 1 MB and a sixteenth of its content is refused.

A GET that comes alone and in one piece, without a body and with nothing to say about its connection, needs
no parser (`request_shape.read_bare`); its head is checked by the same rules, and it takes the same layers.

The fast path answers a request whose bytes were answered from the hot tier before. Key, limit and edition
are one question to the hot store, and the answer leaves in one write. Anything unusual takes the ordinary
path. Both paths use the same `Admission`, `Limits` and `PageCache`, so there is no second place for a
decision.
"""
