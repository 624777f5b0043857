"""Plain questions about the documentation of Python, Git and PostgreSQL, and the pages that answer them.

`TUNING` and `FURTHER` may be looked at: the rules and weights of the ranking were chosen with them, and each
was committed before its first run. `JUDGING` was written from the manuals alone, without a look at the
ranking, and was committed before its first run. Its questions ask for other things than those of `TUNING`;
whoever wrote `FURTHER` had not seen them, and 40 of those have a right page in common with one of them, so
`UNTOUCHED` has the questions about pages that neither set asks for. Only sums are read, never a single
answer: whoever looks at one must move it to `TUNING`. Some questions have typing errors, and many do not use
the form of a word that the page uses, or none of its words.
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

# Written for tuning too, in the words of somebody who does not know the manuals.
FURTHER: Final = (
    _git(
        "I committed to the wrong branch, how do I move it",
        "git-reset",
        "git-cherry-pick",
        "git-rebase",
        "git-checkout",
        "git-branch",
        "user-manual",
    ),
    _git("throw away my local edits to one file", "git-restore", "git-checkout", "git-reset"),
    _git("see what I changed before I commit", "git-diff", "git-status"),
    _git("look for a piece of text in all tracked files", "git-grep"),
    _git(
        "which release was the first to have this fix",
        "git-describe",
        "git-name-rev",
        "git-tag",
        "git-branch",
    ),
    _git("give a file another name but keep its past", "git-mv"),
    _git("stop windows line endings from showing up as changes", "gitattributes", "git-config", "gitfaq"),
    _git("erase a secret file from all of history", "git-filter-branch", "git-fast-export"),
    _git(
        "the repository has become huge, make it smaller",
        "git-gc",
        "git-repack",
        "git-prune",
        "git-maintenance",
        "git-filter-branch",
    ),
    _git("list people by how many commits they made", "git-shortlog"),
    _git("use a graphical tool to settle conflicts", "git-mergetool"),
    _git("move from subversion and keep exchanging changes with it", "git-svn"),
    _git("set my name and address for all projects", "git-config", "gittutorial", "git-commit"),
    _git("somebody rewrote the upstream branch, what do I do", "git-rebase", "git-pull"),
    _git("copy my work to the server so that others see it", "git-push", "gittutorial", "giteveryday"),
    _git(
        "one person appears with two addresses in the log", "gitmailmap", "git-check-mailmap", "git-shortlog"
    ),
    _git("browse the project in a web browser", "gitweb", "git-instaweb"),
    _git("short names for long commands", "git-config", "gittutorial", "git"),
    _git("what does HEAD~3 or main^2 mean", "gitrevisions", "git-rev-parse"),
    _git("check that nothing in the object store is corrupt", "git-fsck", "git-verify-pack"),
    _python("turn a dictionary into text that javascript can read", "library/json"),
    _python("walk through all files below a folder", "library/os", "library/pathlib", "library/glob"),
    _python("remove a folder with everything in it", "library/shutil"),
    _python(
        "do several things at the same time and use all processors",
        "library/multiprocessing",
        "library/concurrent.futures",
        "library/threading",
    ),
    _python("ask the user for a secret without showing it", "library/getpass"),
    _python("count how often each thing occurs in a list", "library/collections"),
    _python("always keep a list in order while adding to it", "library/bisect", "library/heapq"),
    _python("read settings from an ini file", "library/configparser"),
    _python("download a web page", "library/urllib.request", "howto/urllib2", "library/http.client"),
    _python("pick a winner by chance", "library/random"),
    _python("all possible pairs of two lists", "library/itertools"),
    _python(
        "find out where my program spends its time", "library/profile", "library/timeit", "library/trace"
    ),
    _python(
        "who keeps my objects alive, memory grows and grows",
        "library/tracemalloc",
        "library/gc",
        "library/weakref",
    ),
    _python(
        "say what types a function takes",
        "library/typing",
        "reference/compound_stmts",
        "tutorial/controlflow",
    ),
    _python("why is 0.1 plus 0.2 not 0.3", "tutorial/floatingpoint", "faq/design"),
    _python(
        "clean up even if something goes wrong",
        "tutorial/errors",
        "library/contextlib",
        "reference/compound_stmts",
    ),
    _python("a class that only holds a few values", "library/dataclasses", "library/collections"),
    _python("break long lines of prose at 70 columns", "library/textwrap"),
    _python(
        "keep data in a small database inside one file", "library/sqlite3", "library/dbm", "library/shelve"
    ),
    _python(
        "pack files together and make them smaller",
        "library/zipfile",
        "library/tarfile",
        "library/shutil",
        "library/archiving",
    ),
    _python(
        "stop the program politely when ctrl-c is pressed",
        "library/signal",
        "library/exceptions",
        "library/asyncio-runner",
    ),
    _postgres("give a colleague permission to read one table", "sql-grant", "ddl-priv"),
    _postgres("number rows within each group", "functions-window", "tutorial-window"),
    _postgres(
        "give every new row its own number",
        "datatype-numeric",
        "sql-createsequence",
        "functions-sequence",
        "sql-createtable",
    ),
    _postgres(
        "run something whenever a row is inserted",
        "plpgsql-trigger",
        "sql-createtrigger",
        "triggers",
        "trigger-definition",
    ),
    _postgres("be told by the database when something happens", "sql-notify", "sql-listen", "libpq-notify"),
    _postgres(
        "the disk is full, which tables take the space",
        "disk-usage",
        "diskusage",
        "disk-full",
        "functions-admin",
        "oid2name",
    ),
    _postgres("make sure a value is never empty or negative", "ddl-constraints"),
    _postgres("read a table that lives in another database", "postgres-fdw", "dblink", "ddl-foreign-data"),
    _postgres("which statements take most of the time", "pgstatstatements", "auto-explain"),
    _postgres("move to a new major version without dumping everything", "pgupgrade", "upgrading"),
    _postgres(
        "save the result of an expensive query and renew it now and then",
        "rules-materializedviews",
        "sql-creatematerializedview",
        "sql-refreshmaterializedview",
    ),
    _postgres("look inside a json document stored in a column", "functions-json", "datatype-json"),
    _postgres("turn rows into columns", "tablefunc"),
    _postgres(
        "a second server that takes over when the first dies",
        "high-availability",
        "warm-standby",
        "warm-standby-failover",
        "hot-standby",
        "different-replication-solutions",
    ),
    _postgres(
        "somebody blocks my update, who is it",
        "monitoring-locks",
        "view-pg-locks",
        "explicit-locking",
        "functions-info",
    ),
    _postgres("how much memory should I give the server", "runtime-config-resource", "kernel-resources"),
    _postgres("get back the values that were just changed", "dml-returning", "sql-update"),
    _postgres("join the texts of several rows with commas", "functions-aggregate"),
    _postgres(
        "take back everything since I began", "sql-rollback", "tutorial-transactions", "sql-rollback-to"
    ),
)


JUDGING: Final = (
    _git("list the branches I have already merged", "git-branch", "git-for-each-ref"),
    _git("stop tracking a file but keep it on my disk", "git-rm", "gitfaq", "gitignore"),
    _git("force push without overwriting what somebody else pushed", "git-push"),
    _git("windows and linux line endings get mixed up", "gitattributes", "gitfaq", "git-config"),
    _git("purge a big file from the whole history", "git-filter-branch"),
    _git("clone just the newest commits, not all history", "git-clone", "git-fetch", "technical/shallow"),
    _git(
        "serving my repositories over http",
        "git-http-backend",
        "howto/setup-git-server-over-http",
        "git-update-server-info",
    ),
    _git("I keep resolving the same conflict again and again", "git-rerere"),
    _git("how many commits did each person make", "git-shortlog"),
    _git("one person commits with two different email addresses", "gitmailmap", "git-check-mailmap"),
    _git("work with a subversion server", "git-svn"),
    _git("use a graphical diff program to resolve merge conflicts", "git-mergetool"),
    _git("what do the caret and tilde after HEAD mean", "gitrevisions", "git-rev-parse", "user-manual"),
    _git("look for a word in all tracked files", "git-grep"),
    _git("human readable version number from the closest tag", "git-describe"),
    _git("shorter names for comands I type often", "git-config"),
    _git("keep a repository fast with work in the background", "git-maintenance", "git-gc", "scalar"),
    _git("undo a merge that was already published", "howto/revert-a-faulty-merge", "git-revert"),
    _git(
        "throw away my edits to one file and get the commited version back",
        "git-restore",
        "git-checkout",
        "gittutorial",
    ),
    _git("look at a repository in a web browser", "gitweb", "git-instaweb", "gitweb.conf"),
    _python("why is 0.1 + 0.2 not 0.3", "tutorial/floatingpoint", "faq/design", "library/decimal"),
    _python(
        "default list argument remembers values from the previous call",
        "faq/programming",
        "tutorial/controlflow",
        "reference/compound_stmts",
    ),
    _python("duplicate a nested list so the original stays the same", "library/copy", "faq/programming"),
    _python("decode binary records written by a C program", "library/struct"),
    _python("reading settings from an ini file", "library/configparser"),
    _python("call a function when the program ends", "library/atexit"),
    _python("pack a whole folder into a zip file", "library/shutil", "library/zipfile"),
    _python(
        "find all files whose names match a wildcard", "library/glob", "library/fnmatch", "library/pathlib"
    ),
    _python(
        "several processes using the same memory",
        "library/multiprocessing.shared_memory",
        "library/multiprocessing",
        "library/mmap",
    ),
    _python("react when the user presses ctrl-c", "library/signal"),
    _python("where does my program use so much memory", "library/tracemalloc"),
    _python("queue that gives back the smallest item first", "library/heapq", "library/queue"),
    _python("calling functions in a dll or shared library", "library/ctypes"),
    _python(
        "who owns a reference and when must I decrement it in C",
        "c-api/intro",
        "c-api/refcounting",
        "extending/extending",
    ),
    _python("environment variables and switches the interpreter understands", "using/cmdline"),
    _python(
        "make my own class work with the with statement",
        "library/contextlib",
        "reference/datamodel",
        "reference/compound_stmts",
        "library/stdtypes",
    ),
    _python("percent encode special characters in a url", "library/urllib.parse"),
    _python(
        "in which folders does import look for modules",
        "tutorial/modules",
        "reference/import",
        "library/sys_path_init",
        "library/sys",
        "library/site",
    ),
    _python("lambdas made in a loop all return the same result", "faq/programming"),
    _python(
        "can threads run at the same time on several cores",
        "faq/library",
        "library/threading",
        "c-api/init",
        "glossary",
        "library/multiprocessing",
    ),
    _postgres("kill a query that has been running too long", "functions-admin", "runtime-config-client"),
    _postgres(
        "automaticaly numbered primary key",
        "datatype-numeric",
        "sql-createtable",
        "sql-createsequence",
        "functions-sequence",
    ),
    _postgres("can a transaction see what others have not yet commited", "transaction-iso", "mvcc-intro"),
    _postgres("number the rows within each group", "functions-window", "tutorial-window", "sql-expressions"),
    _postgres(
        "query a table that lives on a different server",
        "postgres-fdw",
        "dblink",
        "ddl-foreign-data",
        "contrib-dblink-function",
        "sql-createforeigntable",
    ),
    _postgres("make searching inside json faster", "datatype-json", "gin-builtin-opclasses"),
    _postgres(
        "tell other connected programs that something has changed",
        "sql-notify",
        "sql-listen",
        "libpq-notify",
        "tcn",
    ),
    _postgres("moving to a newer major version", "upgrading", "pgupgrade"),
    _postgres("how much disk space does a table take", "disk-usage", "diskusage", "functions-admin"),
    _postgres("change the type of an existing column", "ddl-alter", "sql-altertable"),
    _postgres("get the id of the row I just added", "dml-returning", "sql-insert", "functions-sequence"),
    _postgres("compare text without caring about upper and lower case", "citext", "collation"),
    _postgres("how big should shared buffers be", "runtime-config-resource"),
    _postgres(
        "record every statement that takes longer than a second", "runtime-config-logging", "auto-explain"
    ),
    _postgres(
        "let someone read all tables but change nothing",
        "sql-grant",
        "ddl-priv",
        "predefined-roles",
        "sql-alterdefaultprivileges",
    ),
    _postgres("turn rows into columns like a pivot table", "tablefunc", "app-psql"),
    _postgres("find indexes nobody uses", "monitoring-stats", "indexes-examine"),
    _postgres("put some tables on another disk", "manage-ag-tablespaces", "sql-createtablespace"),
    _postgres("what happens when transaction numbers run out", "routine-vacuuming"),
    _postgres(
        "several workers taking jobs from one table without blocking each other",
        "sql-select",
        "explicit-locking",
    ),
)

_TUNED: Final = {page for asked in (*TUNING, *FURTHER) for page in asked.pages}
UNTOUCHED: Final = tuple(asked for asked in JUDGING if not _TUNED & set(asked.pages))
