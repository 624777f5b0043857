"""What a caller asks of one page: read, capture, extract; and search over what was read.

A key of the cache names everything that the request depends on. What the key drops is dropped from the
request as well: a cached page is visited at its `shared_url`, without fragment and tracking parameters and
with its other parameters sorted, and the caller's headers are sent in one order and case. Anything that
might name another resource stays in the key: the scheme, a trailing slash, the spelling of a parameter.
Callers who ask for the same page at the same time share one run and its failure, also across processes; a
caller shares a failure only with requests made in the same manner.
"""
