"""Formulas, in whatever form a page has them, as TeX."""
