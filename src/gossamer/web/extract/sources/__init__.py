"""Where values come from: JSON-LD, microdata, RDFa, Open Graph, tables, lists, labels, selectors."""
