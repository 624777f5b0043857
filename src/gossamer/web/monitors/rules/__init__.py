"""Rules: what counts as a change of a page, and what each of them says about two snapshots."""
