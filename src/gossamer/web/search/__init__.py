"""Search rules: words, stems and terms of texts, questions, passages, snippets, and fusion of rankings."""
