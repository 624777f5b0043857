"""The parser pool: parse costly pages in child processes that can be killed.

Only a parser knows how deep a page is. End tags hide in comments, attributes and tables, open formatting is
rebuilt in every block, and the time a parser takes grows with the square of the depth. So nothing here
guesses that a page of many tags is harmless; it recognises pages that are light whatever their tags mean
and parses only those in place.

A child has no secrets in its environment, a bound on its memory, and a deadline. What it returns is decoded
as data of a known shape, never unpickled, so a child that a hostile file has taken over can return nonsense
but run nothing here.
"""
