"""The HTTP client: fetch, follow redirects, decode, and bound every part of an answer.

Head, fields, chunks, trailers, bytes on the wire and after decoding, time to connect, to the first byte and
in all, and a lowest rate: each has a bound. A body reserves room in the process's budget before its next
bytes are parsed, and the reservation ends with the last reference to the body, so no failure or
cancellation can leak it.
"""
