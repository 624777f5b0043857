"""Data out of a page under a JSON Schema, each value with its provenance.

    schema ── value_spec ───────────────────────────┐
    page ──┬── json_ld, microdata, rdfa ── record ──┤
           ├── open_graph, metadata ────────────────┼── matching ── coercion ── extraction ── fitting
           ├── labels, grids ───────────────────────┤
           └── selectors ───────────────────────────┘

A value that the page does not contain is missing, never invented. `model_form` asks a language model for the
missing values, and `grounding` checks that its answers are on the page.
"""
