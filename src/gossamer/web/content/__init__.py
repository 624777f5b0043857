"""Content of a page: main text, plain text, sections, briefs for language models within a token budget."""
