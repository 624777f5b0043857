"""Why an archive is refused."""

from enum import StrEnum


class BadArchive(StrEnum):
    """Why a file cannot be read, or not to its end."""

    NOT_AN_ARCHIVE = "not_an_archive"
    DAMAGED = "damaged"
    UNSAFE_NAMES = "unsafe_names"
    TOO_MANY_RECORDS = "too_many_records"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_MANY_FILES = "too_many_files"
    UNPACKS_TOO_LARGE = "unpacks_too_large"
    TOO_MUCH_WORK = "too_much_work"
    NO_PAGES = "no_pages"


class ArchiveRefused(Exception):
    def __init__(self, reason: BadArchive) -> None:
        super().__init__(reason.value)
        self.reason = reason
