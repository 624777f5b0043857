"""Memory for agents: values and pages that are kept by key, searched, exported and forgotten.

`memory` reads and writes, `memory_search` finds, `page_reader` gets pages that are remembered by address.
"""
