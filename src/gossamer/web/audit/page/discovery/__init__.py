"""How a page is found: titles, headings, canonical links, languages, directives, agents."""
