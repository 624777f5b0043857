"""Marks by which pages give themselves away: headers, tags, scripts and addresses that `outcome` judges by.

Tags and scripts are searched in lower case.
"""

import re
from collections.abc import Mapping
from typing import Final

# What is in a page's tags and scripts, by the name of who puts it there.
Marks = Mapping[str, tuple[str, ...]]

# Headers that a wall sends and the page behind it does not: the name, and what its value begins with.
WALL_HEADERS: Final[Mapping[str, re.Pattern[str]]] = {
    "cf-mitigated": re.compile("challenge|block"),
    "x-amzn-waf-action": re.compile("challenge|captcha"),
    "x-vercel-mitigated": re.compile("challenge|deny"),
    "x-sucuri-block": re.compile("."),
    "x-dd-b": re.compile("[1-9]"),
}

# Tags and scripts that are on the wall itself and not on pages that are merely protected by it.
WALL_MARKUP: Final[Marks] = {
    "cloudflare": ("/cdn-cgi/challenge-platform/h/", "_cf_chl_", "cf-browser-verification", "cf-challenge-"),
    "datadome": ("geo.captcha-delivery.com", "ct.captcha-delivery.com"),
    "perimeterx": ("px-captcha", "captcha.px-cdn.net", "captcha.px-cloud.net", "_pxblockedurl"),
    "imperva": ("_incapsula_resource?cwudnsai=", "&incident_id=", "/distil_r_captcha"),
    "akamai": ("sec-if-cpt-", "/_sec/cp_challenge/", "?bm-verify=", "&bm-verify=", "sec-cpt-if"),
    "aws": ("window.gokuprops", "awswafcaptcha.rendercaptcha"),
    "sucuri": ("sucuri_cloudproxy_js",),
    "ddos-guard": ("/.well-known/ddos-guard/", "ddos-guard/js-challenge", "check.ddos-guard.net"),
    "kasada": ("kpsdk.now", "kpsdk.start"),
    "vercel": ("/.well-known/vercel/security/",),
    "fastly": ("/_fs-ch-",),
    "anubis": (".within.website/x/cmd/anubis", "anubis_challenge"),
    "siteground": ("/.well-known/sgcaptcha/", "/.well-known/captcha/"),
    "imunify360": ("imunify360",),
    "reblaze": ("window.rbzns",),
    "alibaba": ("aliyun_waf_", "acw_sc__v2"),
    "google": ('id="captcha-form"',),
    "yandex": ("/checkcaptcha", "checkbox-captcha-form"),
    "amazon": ("/errors/validatecaptcha", "opfcaptcha"),
    "queue": ("static.queue-it.net/script/queue", "/cdn-cgi/waitingroom"),
}

# Scripts of the same guards that ordinary pages carry too: a wall only where there is nothing else to see.
SENSORS: Final[Marks] = {
    "imperva": ("_incapsula_resource?swjiylwa",),
    "cloudflare": ("/cdn-cgi/challenge-platform/",),
    "aws": (".awswaf.com/",),
    "f5": ("bobcmn", "/tspd/"),
    "kasada": ("/ips.js?",),
    "akamai": ("/akam/1",),
    "datadome": ("js.datadome.co/",),
    "perimeterx": ("client.perimeterx.net",),
}

# Captchas that anyone may put into a form.
EMBEDS: Final[Marks] = {
    "recaptcha": ("/recaptcha/api.js", "/recaptcha/enterprise.js", "g-recaptcha"),
    "hcaptcha": ("hcaptcha.com/", "h-captcha"),
    "turnstile": ("challenges.cloudflare.com/turnstile", "cf-turnstile"),
    "arkose": ("arkoselabs.com", "funcaptcha"),
    "geetest": ("geetest",),
    "friendly": ("friendlycaptcha", "frc-captcha"),
    "others": ("smartcaptcha", "mtcaptcha", "turing.captcha", "altcha-widget"),
    "picture": ("captcha.jpg", "captcha.png", "captcha.gif", "captcha.php", "/captcha/", "captcha_image"),
}

PARKING_MARKUP: Final[Marks] = {
    "sedo": ("sedoparking.com", "sedo.com/search/details"),
    "bodis": ("bodiscdn.com", "parking.bodis", "//www.bodis.com"),
    "parkingcrew": ("parkingcrew.net", "d38psrni17bvxu.cloudfront.net"),
    "godaddy": ("wsimg.com/parking-lander", 'location.href="/lander', "cashparking"),
    "afternic": ("afternic.com/forsale", "afternic.com/domain"),
    "dan": ("dan.com/buy-domain", "cdn.dan.com", "undeveloped.com"),
    "hugedomains": ("hugedomains.com/domain_profile", "hugedomains.com/images"),
    "above": ("above.com/marketplace", "skenzo"),
    "parklogic": ("parklogic.com",),
    "adsense": ("data-adblockkey", "/adsense/domains/caf.js", "window.park ="),
    "registrar": (
        "parkingpage.namecheap.com",
        "parked-content.",
        "/suspendedpage.cgi",
        "/defaultwebpage.cgi",
    ),
}

# Where one is sent to.

WALL_PATH: Final = re.compile(
    r"/sorry/index|/showcaptcha|/(?:distil_r_)?captcha(?:\.html|/|$)|/(?:challenge|blocked)(?:\.html|/|$)"
)
NOT_FOUND_PATH: Final = re.compile(
    r"/(?:(?:error|errors|err)[/_-]?404|404|(?:page|file)?[_-]?not[_-]?found)(?:\.\w{2,5})?/?"
)
LOGIN_PLACE: Final = re.compile(
    r"https?://(?:(?:login|signin|accounts?|sso|auth|idp|id|identity|adfs|cas)\.[^/?#]+"
    r"|[^/?#]+/(?:[^?#]{0,80}/)?(?:log-?in|sign-?in|sso|saml2?|oauth2?|authorize|authwall|wp-login\.php"
    r"|users/sign_in|anmelden|anmeldung|connexion|acceso)(?:\.\w{2,5})?)(?:[/?#]|$)"
)
MARKETPLACES: Final = re.compile(
    r"(?:www\.)?(?:sedo|dan|afternic|hugedomains|godaddy|namecheap|bodis|undeveloped|above|sav|dynadot|atom"
    r"|squadhelp|domainmarket|buydomains|porkbun|namebright)\.(?:com|net|de)"
)
