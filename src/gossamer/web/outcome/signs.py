"""Signs by which a page gives itself away: the tables in `phrases.txt` and `marks.txt`, compiled once.

`TITLES` have to match a whole title or heading, or a part of it without the name of the site. `PHRASES` are
searched for in the text.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from gossamer.web.html.vocabulary import read_sections

# Parts of tags and scripts, by the name of the vendor that puts them there.
Marks = Mapping[str, tuple[str, ...]]

_PHRASES: Final = read_sections("gossamer.web.outcome", "phrases.txt")
_MARKS: Final = read_sections("gossamer.web.outcome", "marks.txt")


def _one_of(*sections: str) -> str:
    return "|".join(phrase for section in sections for phrase in _PHRASES[section])


class Phrases:
    """A pattern that is compiled when it is first used, because all of them take a tenth of a second."""

    def __init__(self, *sections: str, source: str = "") -> None:
        self._source = source or _one_of(*sections)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._source)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._pattern.fullmatch(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self._pattern.match(text)

    def search(self, text: str) -> re.Match[str] | None:
        return self._pattern.search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._pattern.finditer(text)


def _marks(section: str) -> Marks:
    found: dict[str, tuple[str, ...]] = {}
    for line in _MARKS[section]:
        vendor, _, mark = line.partition(" ")
        found[vendor] = (*found.get(vendor, ()), mark)
    return found


# Walls.

WALL_TITLES: Final = Phrases("wall_titles")
WALL_PHRASES: Final = Phrases("wall_phrases")
WALL_INCIDENTS: Final = Phrases("wall_incidents")
WALL_HEADERS: Final = {name: re.compile(value) for name, (value,) in _marks("wall_headers").items()}
WALL_MARKUP: Final = _marks("wall_markup")
SENSORS: Final = _marks("sensors")
CAPTCHAS: Final = _marks("captchas")
WALL_PATH: Final = re.compile(
    r"/sorry/index|/showcaptcha|/(?:distil_r_)?captcha(?:\.html|/|$)|/(?:challenge|blocked)(?:\.html|/|$)"
)

# Missing pages.

_ERROR: Final = _one_of("error_words")
_NOT_FOUND: Final = _one_of("not_found")
_NUMBER: Final = rf"(?:(?:{_ERROR})\W{{0,3}}){{0,2}}404"
NOT_FOUND_TITLES: Final = Phrases(
    source=rf"(?!(?:{_NOT_FOUND})\Z)(?:(?:{_one_of('apologies')})\W{{1,6}})?(?:{_NUMBER}\W{{1,5}}|404)?"
    rf"(?:{_NOT_FOUND}|{_one_of('missing_page')})(?:\W{{0,5}}{_NUMBER})?(?:\W{{1,3}}error)?"
    rf"|(?:(?:{_ERROR})\W{{0,3}}){{1,2}}404|404\W{{0,3}}(?:{_ERROR})(?: page)?"
)
MAYBE_NOT_FOUND_TITLES: Final = Phrases(source=rf"404|{_NOT_FOUND}")  # each may also be the name of something
NOT_FOUND_PHRASES: Final = Phrases("missing_page", "not_found_phrases")
NOT_FOUND_PATH: Final = re.compile(
    r"/(?:(?:error|errors|err)[/_-]?404|404|(?:page|file)?[_-]?not[_-]?found)(?:\.\w{2,5})?/?"
)

# Log-ins.

LOGIN_TITLES: Final = Phrases("login_titles")
LOGIN_PHRASES: Final = Phrases("login_phrases")
LOGIN_LABELS: Final = Phrases("login_labels")
PROVIDER_LABELS: Final = Phrases("provider_labels")
LOGIN_MARKUP: Final = _marks("login_markup")
PAYWALL_PHRASES: Final = Phrases("paywall_phrases")
_LOGIN_HOST: Final = (
    r"(?:login|logon|signin|accounts?|sso|auth|idp|id|identity|adfs|cas|wayf|shibboleth|saml)\."
)
_LOGIN_PATH: Final = (
    r"(?:log-?[io]n|sign-?[io]n|sso|saml2?|oauth2?|openid-connect|authorize|authwall|wp-login\.php|servicelogin"
    r"|users/sign_in|wayf|adfs/ls|anmelden|anmeldung|connexion|acceso|iniciar-sesion|inloggen|logga-in|accedi)"
)
LOGIN_URL: Final = re.compile(
    rf"https?://(?:{_LOGIN_HOST}[^/?#]+|[^/?#]+/(?:[^?#]{{0,80}}/)?{_LOGIN_PATH}(?:\.\w{{2,5}})?)(?:[/?#]|$)"
)
_LOGIN_TARGET: Final = (
    rf"(?:https?://{_LOGIN_HOST}|[^\"'?#>\s]{{0,120}}/{_LOGIN_PATH}(?:\.\w{{2,5}})?(?=[/?#\"'\s>]))"
)
LOGIN_LINK: Final = Phrases(source=rf"<a [^>]{{0,400}}?href=[\"']?{_LOGIN_TARGET}")
# A page that leads to the log-in by itself.
LOGIN_HANDOVER: Final = Phrases(
    source=rf"<meta [^>]{{0,60}}refresh[^>]{{0,60}}url=['\"]?{_LOGIN_TARGET}"
    rf"|location(?:\.href)? ?= ?[\"']{_LOGIN_TARGET}|location\.(?:replace|assign)\(\s?[\"']{_LOGIN_TARGET}"
)

# Failures with a status of success: titles, and the phrases that confirm them, by reason.


class FailureSigns(NamedTuple):
    titles: Phrases
    sentences: Phrases  # that no page says of itself, unless it fails
    confirmations: Phrases | None = None  # further ones of a title


FAILURES: Final = {
    "database_error": FailureSigns(Phrases("database_titles"), Phrases("database_sentences")),
    "script_error": FailureSigns(Phrases("script_error_titles"), Phrases("script_error_sentences")),
    "unavailable": FailureSigns(
        Phrases("unavailable_titles"), Phrases("unavailable_sentences"), Phrases("unavailable_phrases")
    ),
    "server_error": FailureSigns(
        Phrases("server_error_titles"), Phrases("server_error_sentences"), Phrases("server_error_phrases")
    ),
}
CRASHES: Final = Phrases("crashes")
CRASH_END: Final = re.compile(r"(?:fatal|parse) error ?: .{5,600} on line \d{1,6}\s*\Z", re.DOTALL)
CRASH_MARKUP: Final = _marks("crash_markup")

# Parked domains, and servers without a site.

PARKED_PHRASES: Final = Phrases("parked_phrases")
PARKING_MARKUP: Final = _marks("parking_markup")
DEFAULT_PAGE_TITLES: Final = Phrases("default_page_titles")
MARKETPLACE_HOSTS: Final = re.compile(
    r"(?:www\.)?(?:sedo|dan|afternic|hugedomains|godaddy|namecheap|bodis|undeveloped|above|sav|dynadot|atom"
    r"|squadhelp|domainmarket|buydomains|porkbun|namebright)\.(?:com|net|de)"
)

NO_SITE_TITLES: Final = Phrases("no_site_titles")
NO_SITE_PHRASES: Final = Phrases("no_site_phrases")
NO_SITE_MARKUP: Final = _marks("no_site_markup")
EMPTY_FOLDER_TITLE: Final = Phrases(source=r"index of /")
EMPTY_FOLDER_LABELS: Final = frozenset(
    ("cgi-bin/", "../", "name", "last modified", "size", "description", "parent directory", ".well-known/")
)

# Empty shells.

SCRIPT_PHRASES: Final = Phrases("script_phrases")
LOADING_TITLES: Final = Phrases("loading_titles")
