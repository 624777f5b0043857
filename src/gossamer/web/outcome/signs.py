"""Signs by which a page gives itself away: the tables in `phrases.txt` and `marks.txt`, compiled once.

`TITLES` have to match a whole title or heading, or a part of it without the name of the site. `PHRASES` are
searched for in the text.
"""

import re
from collections.abc import Mapping
from typing import Final

from gossamer.web.html.vocabulary import read_sections

# Parts of tags and scripts, by the name of the vendor that puts them there.
Marks = Mapping[str, tuple[str, ...]]

_PHRASES: Final = read_sections("gossamer.web.outcome", "phrases.txt")
_MARKS: Final = read_sections("gossamer.web.outcome", "marks.txt")


def _one_of(*sections: str) -> str:
    return "|".join(phrase for section in sections for phrase in _PHRASES[section])


def _compile(*sections: str) -> re.Pattern[str]:
    return re.compile(_one_of(*sections))


def _marks(section: str) -> Marks:
    found: dict[str, tuple[str, ...]] = {}
    for line in _MARKS[section]:
        vendor, _, mark = line.partition(" ")
        found[vendor] = (*found.get(vendor, ()), mark)
    return found


# Walls.

WALL_TITLES: Final = _compile("wall_titles")
WALL_PHRASES: Final = _compile("wall_phrases")
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
NOT_FOUND_TITLES: Final = re.compile(
    rf"(?!(?:{_NOT_FOUND})\Z)(?:(?:{_one_of('apologies')})\W{{1,6}})?(?:{_NUMBER}\W{{1,5}}|404)?"
    rf"(?:{_NOT_FOUND}|{_one_of('missing_page')})(?:\W{{0,5}}{_NUMBER})?(?:\W{{1,3}}error)?"
    rf"|(?:(?:{_ERROR})\W{{0,3}}){{1,2}}404|404\W{{0,3}}(?:{_ERROR})(?: page)?"
)
MAYBE_NOT_FOUND_TITLES: Final = re.compile(rf"404|{_NOT_FOUND}")  # each may also be the name of something
NOT_FOUND_PHRASES: Final = _compile("missing_page", "not_found_phrases")
NOT_FOUND_PATH: Final = re.compile(
    r"/(?:(?:error|errors|err)[/_-]?404|404|(?:page|file)?[_-]?not[_-]?found)(?:\.\w{2,5})?/?"
)

# Login walls.

LOGIN_TITLES: Final = _compile("login_titles")
LOGIN_PHRASES: Final = _compile("login_phrases")
PAYWALL_PHRASES: Final = _compile("paywall_phrases")
LOGIN_URL: Final = re.compile(
    r"https?://(?:(?:login|signin|accounts?|sso|auth|idp|id|identity|adfs|cas)\.[^/?#]+"
    r"|[^/?#]+/(?:[^?#]{0,80}/)?(?:log-?in|sign-?in|sso|saml2?|oauth2?|authorize|authwall|wp-login\.php"
    r"|users/sign_in|anmelden|anmeldung|connexion|acceso)(?:\.\w{2,5})?)(?:[/?#]|$)"
)

# Parked domains, and servers without a site.

PARKED_PHRASES: Final = _compile("parked_phrases")
PARKING_MARKUP: Final = _marks("parking_markup")
DEFAULT_PAGE_TITLES: Final = _compile("default_page_titles")
MARKETPLACE_HOSTS: Final = re.compile(
    r"(?:www\.)?(?:sedo|dan|afternic|hugedomains|godaddy|namecheap|bodis|undeveloped|above|sav|dynadot|atom"
    r"|squadhelp|domainmarket|buydomains|porkbun|namebright)\.(?:com|net|de)"
)

# Empty shells.

SCRIPT_PHRASES: Final = _compile("script_phrases")
LOADING_TITLES: Final = _compile("loading_titles")
