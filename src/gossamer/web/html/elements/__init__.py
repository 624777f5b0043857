"""The elements of a tree: what one is, whether it is shown, and how they are built from the parser's tree."""
