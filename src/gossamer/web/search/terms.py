"""Terms: what a question looks for in the index, and how well a page has it.

Each part of a question becomes one term: the words and phrases of the index that count as having it, and how
much it weighs. The rarer a word, the more it weighs. A page is ranked by the weights of the terms that it
has, and by how much it is about them (`analysis`). Terms that it lacks are named in the result. In a question
of several words, a page that says a related word instead is found too, and counts less.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from gossamer.web.search.analysis import TOP_LEVEL, highest_level, level_of
from gossamer.web.search.languages import guess_language, has_stems, is_stop_word, stem
from gossamer.web.search.question import Phrase, Question
from gossamer.web.search.related import is_light, related_to

MAX_TERMS: Final = 12  # that a page is ranked by; the rarest count
MAX_LANGUAGES: Final = 3  # that a question may be in
QUESTION_SHARE: Final = 0.25  # of a question's words that are stop words of its language
USUAL_LEVEL: Final = 9  # of a term, on a page that was indexed without levels
COVERAGE: Final = 0.7  # how much the share of the terms counts that a page has
MIN_FREE_TERMS: Final = 3  # from this number on, a page that lacks one may be the best
LIGHT: Final = 0.5  # how much a word counts that says little
RELATED: Final = 0.7  # how much a related word counts
MAX_RELATED: Final = 4  # words for one; the most common count
SHORTER_STEM: Final = 3  # characters that a stem may lack of what its word begins with
PREFIX: Final = "*"  # at the end of a word of a phrase

Rarity = Callable[[Iterable[str]], float]  # of a term, given by the words that count as having it


class Term(NamedTuple):
    said: str  # as it was asked for, in folded words
    phrases: tuple[Phrase, ...]  # of the index; one of them is enough
    weight: float
    is_firm: bool  # no page is found without it
    is_word: bool = False  # one, that may be meant as another
    related: tuple[str, ...] = ()  # stems that pages may have instead
    rarity: float = 0.0  # of all that is sought; 0: as its weight says

    @property
    def sought(self) -> tuple[Phrase, ...]:
        """What a page must have one of, to be found by this term."""
        return (*self.phrases, *((word,) for word in self.related))

    @property
    def share(self) -> float:
        """Of the pages, those that have what is sought; about, from how rare it is."""
        return math.exp(-(self.rarity or self.weight))


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
    forms = {word for one in question.phrases for form in forms_of(one, languages) for word in form}
    related = {other for one in question.phrases for other in related_to(one[0], languages)}
    return forms | related


def terms_of(question: Question, languages: Sequence[str], rarity: Rarity) -> tuple[Term, ...]:
    """The terms of a question, in its order. Stop words are left out, unless there is nothing else."""
    terms: list[Term] = []
    spare: list[Term] = []
    for number, choice in enumerate(question.all_of):
        is_firm = number in question.firm
        phrases = tuple(dict.fromkeys(one for phrase in choice for one in forms_of(phrase, languages)))
        weight = max(rarity(words) for phrase in choice for words in _by_place(phrase, languages))
        term = Term(" ".join(choice[0]), phrases, weight, is_firm, is_word=not is_firm and _is_word(choice))
        is_spare = not is_firm and all(_is_stop_word(phrase, languages) for phrase in choice)
        (spare if is_spare else terms).append(term)
    found = terms or spare
    if sum(not term.is_firm for term in found) >= MIN_FREE_TERMS:
        found = [_weighed(term, languages, rarity) if term.is_word else term for term in found]
    return _bounded(found)


def _is_word(choice: Sequence[Phrase]) -> bool:
    return len(choice) == len(choice[0]) == 1 and choice[0][0][-1] != PREFIX


def _weighed(term: Term, languages: Sequence[str], rarity: Rarity) -> Term:
    """A word of a longer question: it counts less if it says little, and related words may be meant. If these
    are common, its own rareness tells less."""
    if is_light(term.said, languages):
        return term._replace(weight=LIGHT * term.weight, rarity=term.weight)
    others = sorted((rarity((other,)), other) for other in related_to(term.said, languages))[:MAX_RELATED]
    if not others:
        return term
    least = min(term.weight, others[0][0])
    related = tuple(other for _, other in others)
    return term._replace(weight=(term.weight + least) / 2, related=related, rarity=least)


def forms_of(phrase: Phrase, languages: Sequence[str]) -> list[Phrase]:
    """A phrase as it is, and in the stems of each language."""
    if phrase[-1].endswith(PREFIX):
        return [phrase]
    stemmed = (
        tuple(stem(word, language) for word in phrase) for language in languages if has_stems(language)
    )
    return list(dict.fromkeys([phrase, *stemmed]))


def standings(pages: Mapping[int, str | None], terms: Sequence[Term]) -> dict[int, Standing]:
    """Rank pages, given by the weights of their terms; None: indexed without."""
    sought = [_Sought.of(term) for term in terms]
    total = sum(term.weight for term in terms)
    return {page: _standing(weights, sought, total) for page, weights in pages.items()}


def standing(weights: str | None, terms: Sequence[Term]) -> Standing:
    return standings({0: weights}, terms)[0]


class _Sought(NamedTuple):
    """A term, as it is looked for in the weights of many pages."""

    weight: float
    words: tuple[str, ...]  # between spaces
    phrases: tuple[Phrase, ...]  # of several words, or of a word's beginning
    related: tuple[str, ...]  # between spaces

    @classmethod
    def of(cls, term: Term) -> "_Sought":
        longer = tuple(one for one in term.phrases if len(one) > 1 or one[0][-1] == PREFIX)
        words = tuple(f" {one[0]} " for one in term.phrases if one not in longer)
        return cls(term.weight, words, longer, tuple(f" {word} " for word in term.related))


def _standing(weights: str | None, sought: Sequence[_Sought], total: float) -> Standing:
    score = present = 0.0
    missing: list[int] = []
    for number, (weight, words, phrases, related) in enumerate(sought):
        if weights is None:
            level: float = USUAL_LEVEL
        else:
            level = highest_level(weights, words)
            if phrases:
                level = max(level, *(_level(weights, phrase) for phrase in phrases))
        if not level:
            missing.append(number)
        if related and weights is not None and level < RELATED * TOP_LEVEL:
            level = max(level, RELATED * highest_level(weights, related))
        if level:
            present += weight
            score += weight * level / TOP_LEVEL
    is_behind = bool(missing) and len(sought) < MIN_FREE_TERMS
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
