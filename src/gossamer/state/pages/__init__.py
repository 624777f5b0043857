"""The cache of rendered pages: hot tier, cold tier, and the row that is authoritative.

A row's edition grows with every change. The hot tier refuses an edition that is older than the one it has
or than the one that was dropped, so neither a late promotion nor a repair brings back a deleted page.

A row without a blob is a debt of the cold tier. A healthy store has the page before its row is written, so
a crash loses nothing. A store that hangs delays no request: the row is written without a blob, the page is
hot, and the row learns of the blob when the upload ends. `repair` retries a failed upload every ten
seconds, uploads what the hot tier has after a crash, and forgets the row if no tier has the page. If the
hot tier is this process's memory, a new page waits for its upload for up to two seconds, because other
processes find it only in the cold tier. After three silent uses a store is not waited for until it answers
again.
"""
