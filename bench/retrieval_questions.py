"""Plain questions about the documentation of Python, Git and PostgreSQL, and the pages that answer them.

They were written before anything was tuned. `TUNING` was looked at while the ranking was made; of `JUDGING`
sums were seen before one of five settings was chosen, and one question led to the rule for British endings
("serialise"). So neither half is blind any more: judge the next change by new questions. Some have typing
errors, and many do not use the form of a word that the page uses, or none of its words.
"""

from typing import Final, NamedTuple


class Asked(NamedTuple):
    question: str
    pages: tuple[str, ...]  # any of these is right


def _python(question: str, *pages: str) -> Asked:
    return Asked(question, tuple(f"python/{page}.html" for page in pages))


def _git(question: str, *pages: str) -> Asked:
    return Asked(question, tuple(f"git/{page}.html" for page in pages))


def _postgres(question: str, *pages: str) -> Asked:
    return Asked(question, tuple(f"postgresql/{page}.html" for page in pages))


TUNING: Final = (
    _git("how do I undo the last commit", "git-reset", "git-revert", "gitfaq", "user-manual", "git-commit"),
    _git("temporarily put away uncommitted changes", "git-stash"),
    _git("find which commit introduced a bug", "git-bisect", "git-bisect-lk2009"),
    _git("who last changed each line of a file", "git-blame", "git-annotate"),
    _git("delete untracked files from the working tree", "git-clean"),
    _git("several working directories for one repositry", "git-worktree"),
    _git("ignoring files that should not be tracked", "gitignore"),
    _git("run a script before every commit", "githooks"),
    _git("sign a tag with a gpg key", "git-tag"),
    _git(
        "download only part of the files of a large repository", "git-sparse-checkout", "scalar", "git-clone"
    ),
    _python("read and write comma separated files", "library/csv"),
    _python("parsing command line arguments", "library/argparse", "howto/argparse"),
    _python("how to sort a list by a key", "howto/sorting"),
    _python("make a temporary directory that deletes itself", "library/tempfile"),
    _python("run an external program and capture its output", "library/subprocess"),
    _python("measure execution time of small code snippets", "library/timeit"),
    _python("regular expresion syntax", "library/re", "howto/regex"),
    _python(
        "what is a generator", "glossary", "howto/functional", "reference/expressions", "tutorial/classes"
    ),
    _python("sending email through an smtp server", "library/smtplib", "library/email.examples"),
    _python("cancelling a running task in asyncio", "library/asyncio-task"),
    _postgres("how to make a backup of a database with sql dump", "backup-dump", "app-pgdump", "backup"),
    _postgres("limit which rows each user can see", "ddl-rowsecurity", "sql-createpolicy"),
    _postgres(
        "automatically removing dead rows", "routine-vacuuming", "sql-vacuum", "runtime-config-autovacuum"
    ),
    _postgres("search text ignoring accents", "unaccent"),
    _postgres("store passwords for connecting in a file", "libpq-pgpass"),
    _postgres("split a big table into partitions", "ddl-partitioning"),
    _postgres("upsert insert or update on conflict", "sql-insert"),
    _postgres("why is my query slow explain the plan", "using-explain", "sql-explain"),
    _postgres("convert a string to a date with a format", "functions-formatting"),
    _postgres("fuzzy string matchng with trigrams", "pgtrgm"),
)

JUDGING: Final = (
    _git("combine several commits into one", "git-rebase", "git-merge", "user-manual", "gitfaq"),
    _git("apply the changes of a single commit to another branch", "git-cherry-pick"),
    _git(
        "recover a deleted branch or lost commits",
        "git-reflog",
        "git-fsck",
        "user-manual",
        "gitcore-tutorial",
    ),
    _git(
        "remember my password for https remotes",
        "git-credential-cache",
        "git-credential-store",
        "gitcredentials",
    ),
    _git("include another repository inside a subdirectory", "git-submodule", "gitsubmodules", "gitmodules"),
    _git("exporting the files of a revision as a zip file", "git-archive"),
    _git("mail patches to a mailing list", "git-send-email", "git-format-patch"),
    _git("change the message of the most recent commit", "git-commit", "gitfaq", "gittutorial"),
    _git("attaching notes to commits without changing them", "git-notes"),
    _git("transfer a repository without a network using one file", "git-bundle"),
    _python("serialise objects to disk", "library/pickle", "library/shelve", "library/persistence"),
    _python(
        "log messages to a rotating file",
        "library/logging.handlers",
        "howto/logging-cookbook",
        "howto/logging",
    ),
    _python("exact decimal aritmetic for money", "library/decimal"),
    _python("cache the results of a function", "library/functools"),
    _python("start a simple web server", "library/http.server"),
    _python("creating virtual environments", "library/venv", "tutorial/venv"),
    _python("compare two sequences and show the differences", "library/difflib"),
    _python("working with time zones", "library/zoneinfo", "library/datetime"),
    _python("generate cryptographically strong random tokens", "library/secrets"),
    _python("debug a program step by step with breakpoints", "library/pdb"),
    _python(
        "replace parts of the system with mock objects in tests",
        "library/unittest.mock",
        "library/unittest.mock-examples",
    ),
    _postgres("restore the database to a point in time", "continuous-archiving"),
    _postgres(
        "which clients may connect and how they authenticate", "auth-pg-hba-conf", "client-authentication"
    ),
    _postgres("copying data from a csv file into a table", "sql-copy", "populate"),
    _postgres("avoiding deadlocks between transactions", "explicit-locking"),
    _postgres("recursive queries with common table expressions", "queries-with"),
    _postgres("creating an index without locking writes", "sql-createindex"),
    _postgres("encrypt columns with a pasword", "pgcrypto", "encryption-options"),
    _postgres(
        "replicate only some tables to another server",
        "logical-replication",
        "logical-replication-publication",
        "sql-createpublication",
        "logical-replication-quick-setup",
    ),
    _postgres("generate a series of dates", "functions-srf"),
)
