"""The search index: our terms in FTS5 or in tsvectors, so that both databases find the same.

A search takes four steps. The lexicon says how rare the words of the question are, and corrects those that no
page has. The database gives candidates: a bounded number, first those that are about the terms. They are
ranked by weights that were stored with them. The texts of the best are read, to see which have the terms near
each other, and to find their passages.

Tenant, site and language are words that no page can contain, so one tenant's pages are found without
visiting all others. A crawl does not wait for the
index: the transaction that stores a batch of pages queues it with one row, and any number of processes
follow.

A page that is fetched is noted in memory. Notes are written every few seconds, before a search of this
process, and at a clean stop. If the database refuses them, they are written later, and searches until then
say that they lack something. A process that is killed loses its notes: such a page is indexed when it is
read again.
"""
