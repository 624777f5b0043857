"""Rendering: answer from the page cache, or queue one job for all callers, and run it.

A bad page fails its job and never replaces a good one. The page is uploaded first, its row is written in
the transaction that ends the job, and the hot tier gets it last. An upload that takes longer than 0.3
seconds continues behind the answer.
"""
