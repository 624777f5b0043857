"""Failures: pages that report an error of the site, although their status says that all is well.

The same words stand in manuals, news and the names of songs. So a title counts on a page that has nothing
else, or with a sentence that confirms it; a sentence alone counts only where the page begins with it.
"""

from typing import Final

from gossamer.web.outcome import signs
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.outcome.page_view import EDGES, FRAGMENT, LINE, NOTE, PageView, plain

MAX_BEGINNING_CHARS: Final = 200


def is_crash(text: str) -> bool:
    return signs.CRASHES.match(plain(text[: 2 * MAX_BEGINNING_CHARS])) is not None


def judge_crash(view: PageView) -> Judgement | None:
    """Find the report of a program that died. It may be long, and is then all that the page says."""
    if view.page.status >= 300 or view.scan.links > 8:
        return None
    begins = signs.CRASHES.match(view.text)
    if begins:
        return Judgement(Outcome.ERROR, "script_error", begins[0][:100])
    ends = signs.CRASH_END.search(view.text[-1000:]) if view.is_shorter_than(NOTE) else None
    if ends:
        return Judgement(Outcome.ERROR, "script_error", ends[0][:100])
    crash = signs.FAILURES["script_error"]
    title = view.match_title(crash.titles)
    if title and (" at /" in title or view.find_phrase(crash.sentences, below=NOTE)):
        return Judgement(Outcome.ERROR, "script_error", title)
    return None


def judge_failure(view: PageView) -> Judgement | None:
    if not view.is_shorter_than(NOTE):
        return None
    if host := view.find_mark(signs.CRASH_MARKUP):
        return Judgement(Outcome.ERROR, "server_error", host)
    for reason, known in signs.FAILURES.items():
        sentence = view.find_phrase(known.sentences, below=NOTE)
        title = view.match_title(known.titles) or _whole_text(view, known.titles)
        if title and _is_alone(view, confirmed=bool(sentence) or _is_confirmed(view, known.confirmations)):
            return Judgement(Outcome.ERROR, reason, title)
        if sentence and view.is_bare and view.is_shorter_than(LINE) and _is_first(view, sentence):
            return Judgement(Outcome.ERROR, reason, sentence)
    return None


def is_failure_title(part: str) -> bool:
    return any(known.titles.fullmatch(part) for known in signs.FAILURES.values())


def _is_confirmed(view: PageView, phrases: signs.Phrases | None) -> bool:
    return phrases is not None and view.find_phrase(phrases, below=NOTE) != ""


def _is_first(view: PageView, sentence: str) -> bool:
    return sentence in view.text[:MAX_BEGINNING_CHARS]


def _whole_text(view: PageView, titles: signs.Phrases) -> str:
    """A page without markup has no title: its only line stands for it."""
    line = view.text.strip(EDGES)
    return line if len(line) < MAX_BEGINNING_CHARS and titles.fullmatch(line) else ""


def _is_alone(view: PageView, *, confirmed: bool) -> bool:
    if view.is_bare:
        return view.is_shorter_than(LINE if confirmed else FRAGMENT)
    return confirmed and view.is_shorter_than(FRAGMENT)
