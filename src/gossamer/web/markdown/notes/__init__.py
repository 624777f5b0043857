"""Footnotes in all the forms that pages give them: their marks in the text, and the notes."""
