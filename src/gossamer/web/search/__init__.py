"""Search rules: words of a text, questions, snippets, and fusion of rankings."""
