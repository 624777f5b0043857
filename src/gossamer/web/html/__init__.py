"""HTML: the tree, charset, metadata, titles, dates, links, resources, shadow roots, and cleaning."""
