"""Terms: what a question looks for in the index, and how well a page has it.

Each part of a question becomes one term: the words and phrases of the index that count as having it, and how
much it weighs. The rarer a word, the more it weighs. A page is ranked by the weights of the terms that it
has, and by how much it is about them (`analysis`). Terms that it lacks are named in the result.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from gossamer.web.search.analysis import TOP_LEVEL, level_of
from gossamer.web.search.languages import guess_language, has_stems, is_stop_word, stem
from gossamer.web.search.question import Phrase, Question

MAX_TERMS: Final = 12  # that a page is ranked by; the rarest count
MAX_LANGUAGES: Final = 3  # that a question may be in
QUESTION_SHARE: Final = 0.25  # of a question's words that are stop words of its language
USUAL_LEVEL: Final = 9  # of a term, on a page that was indexed without levels
COVERAGE: Final = 0.7  # how much the share of the terms counts that a page has
MIN_FREE_TERMS: Final = 3  # from this number on, a page that lacks one may be the best
SHORTER_STEM: Final = 3  # characters that a stem may lack of what its word begins with
PREFIX: Final = "*"  # at the end of a word of a phrase

Rarity = Callable[[Iterable[str]], float]  # of a term, given by the words that count as having it


class Term(NamedTuple):
    said: str  # as it was asked for, in folded words
    phrases: tuple[Phrase, ...]  # of the index; one of them is enough
    weight: float
    is_firm: bool  # no page is found without it

    @property
    def share(self) -> float:
        """Of the pages, those that have it; about, from how rare it is."""
        return math.exp(-self.weight)


class Standing(NamedTuple):
    """How well a page answers."""

    score: float
    missing: tuple[int, ...]  # which terms it lacks
    is_behind: bool  # of few terms it lacks one, so all pages that have them come first
    meaning: float = 0.0  # what is added to the score because it means what was asked

    @property
    def order(self) -> tuple[bool, float]:
        """The better, the less."""
        return self.is_behind, -(self.score + self.meaning)


def languages_of(question: Question, usual: Sequence[str]) -> tuple[str, ...]:
    """The likely languages of a question: what it asks for or shows, or else those of most pages."""
    said = [word for phrase in question.phrases for word in phrase]
    found = question.language or guess_language(said, least=QUESTION_SHARE)
    return (found,) if found else tuple(usual[:MAX_LANGUAGES]) or ("en",)


def words_of(question: Question, languages: Sequence[str]) -> set[str]:
    """All words that count for a question, to look up how rare they are."""
    return {word for one in question.phrases for form in forms_of(one, languages) for word in form}


def terms_of(question: Question, languages: Sequence[str], rarity: Rarity) -> tuple[Term, ...]:
    """The terms of a question, in its order. Stop words are left out, unless there is nothing else."""
    terms: list[Term] = []
    spare: list[Term] = []
    for number, choice in enumerate(question.all_of):
        is_firm = number in question.firm
        phrases = tuple(dict.fromkeys(one for phrase in choice for one in forms_of(phrase, languages)))
        weight = max(rarity(words) for phrase in choice for words in _by_place(phrase, languages))
        term = Term(" ".join(choice[0]), phrases, weight, is_firm)
        is_spare = not is_firm and all(_is_stop_word(phrase, languages) for phrase in choice)
        (spare if is_spare else terms).append(term)
    return _bounded(terms or spare)


def forms_of(phrase: Phrase, languages: Sequence[str]) -> list[Phrase]:
    """A phrase as it is, and in the stems of each language."""
    if phrase[-1].endswith(PREFIX):
        return [phrase]
    stemmed = (
        tuple(stem(word, language) for word in phrase) for language in languages if has_stems(language)
    )
    return list(dict.fromkeys([phrase, *stemmed]))


def standing(weights: str | None, terms: Sequence[Term]) -> Standing:
    """Rank a page by the weights of its terms; None: it was indexed without."""
    score = present = total = 0.0
    missing: list[int] = []
    for number, term in enumerate(terms):
        level = USUAL_LEVEL if weights is None else max(_level(weights, phrase) for phrase in term.phrases)
        total += term.weight
        if level:
            present += term.weight
            score += term.weight * level / TOP_LEVEL
        else:
            missing.append(number)
    is_behind = bool(missing) and len(terms) < MIN_FREE_TERMS
    return Standing(score * (present / total) ** COVERAGE if total else 0.0, tuple(missing), is_behind)


def rarity_of(pages: int, having: int) -> float:
    """As in BM25; never 0."""
    return math.log(1 + (max(pages, having) - having + 0.5) / (having + 0.5))


def _level(weights: str, phrase: Phrase) -> int:
    return min(
        _prefix_level(weights, word[:-1]) if word[-1] == PREFIX else level_of(weights, word)
        for word in phrase
    )


def _prefix_level(weights: str, prefix: str) -> int:
    """A stem may be a little shorter than what its word begins with."""
    shortest = max(2, len(prefix) - SHORTER_STEM)
    tried = (
        level_of(weights, prefix[:size], is_prefix=True) for size in range(len(prefix), shortest - 1, -1)
    )
    return next(filter(None, tried), 0)


def _by_place(phrase: Phrase, languages: Sequence[str]) -> list[set[str]]:
    """For each word of a phrase, what counts as having it."""
    return [{form[at] for form in forms_of(phrase, languages)} for at in range(len(phrase))]


def _is_stop_word(phrase: Phrase, languages: Sequence[str]) -> bool:
    return len(phrase) == 1 and is_stop_word(phrase[0], languages)


def _bounded(terms: list[Term]) -> tuple[Term, ...]:
    distinct: Mapping[tuple[Phrase, ...], Term] = {term.phrases: term for term in reversed(terms)}
    kept = sorted(distinct.values(), key=lambda term: (not term.is_firm, -term.weight))[:MAX_TERMS]
    return tuple(term for term in terms if any(term is one for one in kept))
