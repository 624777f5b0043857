"""A pool of Chromium processes, driven over their pipes.

CDP over a pipe needs no port that others could reach, and every request of a page can be tied to its
visit.
"""
