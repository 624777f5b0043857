"""Structured: data out of a page under a JSON Schema, each value with where it came from.

    schema ── wanted ─────────────────────────┐
    page ──┬── json_ld, microdata, rdfa ── record ──┐
           ├── open_graph, metadata ────────────────┼── matching ── coercion ── harvest ── fitting
           ├── labels, grids ───────────────────────┤
           └── selectors ───────────────────────────┘

What the page does not say is missing, never invented. What is left for a language model is put into words by
`asking`, and what it answers has to be on the page (`grounding`).
"""
