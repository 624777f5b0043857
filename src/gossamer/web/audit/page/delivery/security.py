"""Security: what protects readers on the way to the page and on it."""

import re
from typing import Final

from gossamer.web.audit.check import (
    CheckMaker,
    PageAnswer,
    Severity,
    Theme,
    Unanswered,
    not_fetched,
    page_has_no,
)
from gossamer.web.audit.page.subject import Subject, attribute
from gossamer.web.url.address import judge_host

HALF_A_YEAR: Final = 15_552_000  # seconds
_ACTIVE: Final = "script[src], link[rel~='stylesheet' i][href], iframe[src], object[data], embed[src]"
_PASSIVE: Final = "img[src], video[src], audio[src], source[src], input[type='image'][src]"
_MAX_AGE: Final = re.compile(r"max-age\s*=\s*\"?([0-9]{1,12})", re.I)
_VERSION: Final = re.compile(r"/\s*v?[0-9]+\.[0-9]")
_LEAKING: Final = frozenset({"unsafe-url", "no-referrer-when-downgrade"})
_ATTRIBUTES: Final = ("src", "href", "data")

_PRIVATE: Final = Unanswered(
    "The page is at a private address, where encryption is not expected", harmless=True
)

check = CheckMaker[Subject](Theme.SECURITY, "page")


@check(
    "https-missing",
    Severity.SERIOUS,
    title="The page is not encrypted",
    passed="The page is encrypted",
    why="Browsers call it not secure, anyone on the network can read and change it, and search engines "
    "prefer others.",
    fix="Serve the site over https only; certificates are free.",
    html=False,
)
def https_missing(subject: Subject) -> PageAnswer:
    if subject.parts.scheme == "https":
        return []
    return [subject.url] if _is_public(subject.parts.hostname or "") else _PRIVATE


@check(
    "https-not-enforced",
    Severity.MODERATE,
    title="The unencrypted address does not lead to the encrypted one",
    passed="The unencrypted address leads to the encrypted one",
    why="Old links and typed addresses stay on http, and the site exists twice.",
    fix="Redirect every http address to https with status 301 or 308.",
    html=False,
)
def https_not_enforced(subject: Subject) -> PageAnswer:
    if subject.parts.scheme != "https":
        return page_has_no("https address")
    if subject.http_redirects_to_https is None:
        return not_fetched("The http address")
    return [] if subject.http_redirects_to_https else ["http answers without leading to https"]


@check(
    "mixed-active",
    Severity.SERIOUS,
    title="An encrypted page loads scripts, styles or frames unencrypted",
    passed="Scripts, styles and frames are loaded encrypted",
    why="Browsers block them, so parts of the page are missing.",
    fix="Load them over https.",
)
def mixed_active(subject: Subject) -> PageAnswer:
    return _loaded_over_http(subject, _ACTIVE)


@check(
    "mixed-passive",
    Severity.MODERATE,
    title="An encrypted page loads images or media unencrypted",
    passed="Images and media are loaded encrypted",
    why="They can be seen and replaced on the way, and browsers stop showing the page as secure.",
    fix="Load them over https.",
)
def mixed_passive(subject: Subject) -> PageAnswer:
    return _loaded_over_http(subject, _PASSIVE)


@check(
    "form-insecure",
    Severity.SERIOUS,
    title="A form is sent unencrypted",
    passed="Forms are sent encrypted",
    why="Anyone on the network can read the input, including passwords.",
    fix="Let the form's `action` be an https address.",
)
def form_insecure(subject: Subject) -> PageAnswer:
    if subject.parts.scheme != "https":
        return page_has_no("https address")
    forms = subject.tree.css("form")
    if not forms:
        return page_has_no("forms")
    targets = (subject.addresses.absolute(attribute(form, "action")) or subject.url for form in forms)
    return [target for target in targets if target.startswith("http:")]


@check(
    "hsts-missing",
    Severity.MODERATE,
    title="Browsers are not told to stay with https",
    passed="Browsers are told to stay with https",
    why="The first request of every visit can be intercepted before it is redirected.",
    fix="Send `Strict-Transport-Security: max-age=31536000; includeSubDomains`.",
    html=False,
)
def hsts_missing(subject: Subject) -> PageAnswer:
    if subject.parts.scheme != "https":
        return page_has_no("https address")
    return [] if subject.page.header("strict-transport-security") else ["no Strict-Transport-Security"]


@check(
    "hsts-short",
    Severity.MINOR,
    title="Browsers are told to stay with https for a short time only",
    passed="Browsers stay with https for long",
    why="A visitor who comes back after that time is unprotected again.",
    fix="Set `max-age` to half a year at least.",
    html=False,
)
def hsts_short(subject: Subject) -> PageAnswer:
    value = subject.page.header("strict-transport-security")
    if not value or subject.parts.scheme != "https":
        return page_has_no("Strict-Transport-Security")
    stated = _MAX_AGE.search(value)
    return [] if stated and int(stated[1]) >= HALF_A_YEAR else [value]


@check(
    "csp-missing",
    Severity.MINOR,
    title="There is no content security policy",
    passed="There is a content security policy",
    why="If an attacker manages to put a script into the page, nothing stops it.",
    fix="Send `Content-Security-Policy`; begin with `Content-Security-Policy-Report-Only` to see what it "
    "would block.",
)
def csp_missing(subject: Subject) -> PageAnswer:
    return [] if _policy(subject) else ["no Content-Security-Policy"]


@check(
    "csp-unsafe",
    Severity.INFO,
    title="The content security policy allows inline scripts or eval",
    passed="The content security policy allows neither inline scripts nor eval",
    why="Preventing these is the main purpose of such a policy.",
    fix="Use nonces or hashes for the scripts that must be inline.",
)
def csp_unsafe(subject: Subject) -> PageAnswer:
    policy = _policy(subject)
    if not policy:
        return page_has_no("content security policy")
    directives = {part.split()[0]: part for part in policy.lower().split(";") if part.split()}
    scripts = directives.get("script-src") or directives.get("default-src") or "script-src *"
    found: list[str] = [word for word in ("'unsafe-inline'", "'unsafe-eval'") if word in scripts.split()]
    strict = "nonce-" in scripts or "strict-dynamic" in scripts or "'sha" in scripts
    return [] if strict else found


@check(
    "nosniff-missing",
    Severity.MINOR,
    title="Browsers may guess the type of files",
    passed="Browsers take the type of files as stated",
    why="An upload that looks like a script may be run as one.",
    fix="Send `X-Content-Type-Options: nosniff`.",
    html=False,
)
def nosniff_missing(subject: Subject) -> PageAnswer:
    value = (subject.page.header("x-content-type-options") or "").strip().lower()
    return [] if value == "nosniff" else [f"X-Content-Type-Options: {value or 'missing'}"]


@check(
    "referrer-policy-missing",
    Severity.MINOR,
    title="Nothing is said about what other sites learn from links",
    passed="It is said what other sites learn from links",
    why="Linked sites may learn full addresses, including search words.",
    fix="Send `Referrer-Policy: strict-origin-when-cross-origin`.",
)
def referrer_policy_missing(subject: Subject) -> PageAnswer:
    stated = subject.page.header("referrer-policy") or subject.meta("referrer")
    if not stated:
        return ["no Referrer-Policy"]
    chosen = stated.lower().split(",")[-1].strip()
    return [f"Referrer-Policy: {chosen}"] if chosen in _LEAKING else []


@check(
    "frames-unprotected",
    Severity.MINOR,
    title="Any site may show the page in a frame",
    passed="Other sites may not show the page in a frame",
    why="With a transparent frame over a button, another site can make your readers click it.",
    fix="Send `Content-Security-Policy: frame-ancestors 'self'`, or `X-Frame-Options: SAMEORIGIN`.",
)
def frames_unprotected(subject: Subject) -> PageAnswer:
    framed = (subject.page.header("x-frame-options") or "").strip().lower() in ("deny", "sameorigin")
    ancestors = any(
        "frame-ancestors" in value.lower() for value in subject.headers("content-security-policy")
    )
    return [] if framed or ancestors else ["neither frame-ancestors nor X-Frame-Options"]


@check(
    "cookie-flags",
    Severity.MODERATE,
    title="Cookies lack protection",
    passed="Cookies are protected",
    why="Without `Secure` they travel unencrypted; without `SameSite` other sites can use them.",
    fix="Set `Secure` and `SameSite`, and `HttpOnly` on all that no script needs.",
    html=False,
)
def cookie_flags(subject: Subject) -> PageAnswer:
    cookies = subject.headers("set-cookie")
    if not cookies:
        return page_has_no("cookies")
    return [lack for cookie in cookies[:100] if (lack := _lacking(cookie))]


@check(
    "server-version",
    Severity.INFO,
    title="The server reveals its version",
    passed="The server does not reveal its version",
    why="Attackers who look for servers with a known vulnerability find it sooner.",
    fix="Let it send its name only, or nothing.",
    html=False,
)
def server_version(subject: Subject) -> PageAnswer:
    sent = [
        (name, value)
        for name in ("server", "x-powered-by", "x-aspnet-version")
        for value in subject.headers(name)
    ]
    return [
        f"{name}: {value}" for name, value in sent if _VERSION.search(value) or name == "x-aspnet-version"
    ]


def _loaded_over_http(subject: Subject, selector: str) -> PageAnswer:
    if subject.parts.scheme != "https":
        return page_has_no("https address")
    found = []
    for node in subject.tree.css(selector):
        reference = next((attribute(node, name) for name in _ATTRIBUTES if attribute(node, name)), "")
        url = subject.addresses.absolute(reference)
        if url.startswith("http:"):
            found.append(url)
    return list(dict.fromkeys(found))


def _policy(subject: Subject) -> str:
    stated = subject.headers("content-security-policy")
    return "; ".join([*stated, *subject.metas.get("http-equiv:content-security-policy", ())])


def _lacking(cookie: str) -> str:
    """Show only the name: the value may be a secret."""
    name, *rest = cookie.split(";")
    flags = {part.partition("=")[0].strip().lower() for part in rest}
    missing = [flag for flag in ("Secure", "HttpOnly", "SameSite") if flag.lower() not in flags]
    if missing == ["HttpOnly"]:
        return ""  # scripts may need it; whether they do cannot be seen
    return f"{name.partition('=')[0].strip()[:80]}: no {', '.join(missing)}" if missing else ""


def _is_public(host: str) -> bool:
    return judge_host(host).allowed and not host.endswith(".test")


CHECKS: Final = (
    https_missing,
    https_not_enforced,
    mixed_active,
    mixed_passive,
    form_insecure,
    hsts_missing,
    hsts_short,
    csp_missing,
    csp_unsafe,
    nosniff_missing,
    referrer_policy_missing,
    frames_unprotected,
    cookie_flags,
    server_version,
)
