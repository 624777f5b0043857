"""Traps: parts of a site that a crawl would never leave, because there is always one more URL.

    url_pattern     what URLs of one kind have in common
    session_ids     what a URL says about the visitor instead of the page
    parameters      learns from copies which parameters do not change the content
    novelty         what a page adds to those before it
    budget          how many URLs of a pattern may still be found on pages that add nothing
    facets          combinations of filters
    repeats         paths that run in circles
    calendar        dates far ahead or far behind
    host_traps      all of this for one host of a crawl
    crawl_traps     the hosts of a crawl, and what workers tell each other

Nothing is cut that brings new content. URLs are only counted against a budget if they were found on a page
that is a copy of another, or nearly so, and each new page of the same pattern raises the budget again.
"""
