"""Deleting, as jobs, and what is kept how long.

`deleter` accepts deletions, queues their jobs and carries them out; each kind of subject has a removal of its
own. `retention` removes what was kept long enough.
"""
