"""Places without a site: parked domains, default pages, and hosts that know no site of this name."""

from urllib.parse import urlsplit

from gossamer.web.outcome import signs
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.outcome.page_view import ARTICLE, LINE, NOTE, PageView
from gossamer.web.pages.page import Page


def judge_parked(view: PageView) -> Judgement | None:
    if not view.is_shorter_than(ARTICLE) or signs.MARKETPLACE_HOSTS.fullmatch(urlsplit(view.page.url).netloc):
        return None
    if company := view.find_mark(signs.PARKING_MARKUP):
        return Judgement(Outcome.PARKED, "domain_parked", company)
    if view.is_redirected and signs.MARKETPLACE_HOSTS.fullmatch(urlsplit(view.page.final_url).netloc):
        return Judgement(Outcome.PARKED, "domain_for_sale", urlsplit(view.page.final_url).netloc)
    if default := view.match_title(signs.DEFAULT_PAGE_TITLES):
        return Judgement(Outcome.PARKED, "default_page", default)
    if _is_empty_folder(view):
        return Judgement(Outcome.PARKED, "default_page", "an empty folder")
    if view.scan.links <= 20 and (phrase := view.find_phrase(signs.PARKED_PHRASES, below=NOTE)):
        return Judgement(Outcome.PARKED, "domain_parked", phrase)
    return None


def judge_no_site(view: PageView) -> Judgement | None:
    """Hosts report this with any status: there is no site, not just no page."""
    if not view.is_shorter_than(NOTE):
        return None
    sign = (
        view.find_mark(signs.NO_SITE_MARKUP)
        or view.match_title(signs.NO_SITE_TITLES)
        or (view.is_bare and view.find_phrase(signs.NO_SITE_PHRASES, below=LINE))
    )
    return Judgement(Outcome.PARKED, "no_site", sign) if sign else None


def judge_bucket(page: Page) -> Judgement | None:
    """Object stores report a missing bucket in XML."""
    if page.status in (403, 404) and b"<Code>NoSuchBucket</Code>" in page.body[:1000]:
        return Judgement(Outcome.PARKED, "no_site", "NoSuchBucket")
    return None


def _is_empty_folder(view: PageView) -> bool:
    labels = {label.lower() for label in view.scan.labels}
    return view.match_title(signs.EMPTY_FOLDER_TITLE) != "" and labels <= signs.EMPTY_FOLDER_LABELS
