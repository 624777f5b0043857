"""The tables of memory: entries with their versions, in namespaces, in the store of a tenant or a wallet.

A store is one row that every writer locks first, so writers of a store take turns, its counts are exact, and
what is compared and set is so in one transaction. The words of an entry go into the search index in the same
transaction, under the id of the store instead of a tenant's: no search over pages can find them.
"""
