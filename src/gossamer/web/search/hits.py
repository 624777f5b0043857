"""Hits: where a text has the terms of a question, and the passages and snippets around them.

The text is searched for the beginnings of words at the speed of `str.find`, and only the words that are found
are folded and stemmed. So a long page costs little more than a short one.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from gossamer.web.search.fusion import FoundPassage
from gossamer.web.search.languages import stem
from gossamer.web.search.passage_ranking import ABOVE, HEADING, PassageWeights, scores
from gossamer.web.search.passages import Passage, TextHeading, link_to, passages_of
from gossamer.web.search.question import Phrase
from gossamer.web.search.snippet import MatchSpan, beginning, excerpt
from gossamer.web.search.terms import PREFIX, Term
from gossamer.web.search.words import UNSPACED, align, is_unspaced, words

MAX_HITS: Final = 40  # of a word in a page
MAX_PASSAGES: Final = 3  # of a page in a result
OTHER_PASSAGES: Final = 0.6  # the score of a further passage, as a share of the best one's
NEAR_CHARS: Final = 200  # within which terms are near each other
MAX_GAP_CHARS: Final = 100  # a word, and what separates it from the one before

# Close to what `words` takes for a word, for texts in lower case.
_SIGNS: Final = (
    r"\x00-/:-@\[-`{-\xa9\xab-\xb1\xb6-\xb8\xbb\xbf\u2000-\u2bff"
    r"\u3000-\u3004\u3008-\u3020\ufe30-\ufe4f\uff00-\uff0f"
)
_ACCENTED: Final = re.compile("[^\x00-\xbf\u2000-\u2bff\u3000-\u303f\u4e00-\u9fff]+")  # perhaps
_WORD: Final = re.compile(rf"[{UNSPACED}]|[^{_SIGNS}{UNSPACED}]+")


_ASCII: Final = bytes(range(128))


class TermHit(NamedTuple):
    start: int
    end: int
    term: int


class HitFinder(Struct):
    """Finds the terms of one question in many texts."""

    terms: Sequence[Term]
    _known: dict[tuple[str, str], str] = field(default_factory=dict)  # stems of words by language
    _verdicts: dict[tuple[tuple[Phrase, ...], str], dict[str, bool]] = field(default_factory=dict)

    def find(self, text: str, language: str, missing: Sequence[int] = ()) -> list[TermHit]:
        """All hits in the order of the text, which is clean (`words.clean`). Of `missing` terms, what is
        related is looked for."""
        lowered = _lowered(text)
        found: list[TermHit] = []
        for number, term in enumerate(self.terms):
            if number not in missing:
                found += self._hits(lowered, term.phrases, number, language)
            elif term.related:
                found += self._hits(lowered, tuple((word,) for word in term.related), number, language)
        return sorted(found)

    def _hits(self, text: str, phrases: tuple[Phrase, ...], number: int, language: str) -> list[TermHit]:
        hits: dict[int, TermHit] = {}
        beginnings = {_beginning(phrase[0]) for phrase in phrases}
        single = {phrase[0] for phrase in phrases if len(phrase) == 1}
        longer = [phrase for phrase in phrases if len(phrase) > 1]
        is_it = self._verdicts.setdefault((phrases, language), {})  # words that were seen before
        for begins in beginnings:
            if any(begins != other and begins.startswith(other) for other in beginnings):
                continue
            for start in _places(text, begins):
                word = _WORD.match(text, start)
                if word is None:
                    continue
                verdict = is_it.get(word[0])
                if verdict is None:
                    verdict = is_it[word[0]] = any(self._is(word[0], said, language) for said in single)
                end = word.end() if verdict else self._end_of_any(text, start, longer, language)
                if end:
                    hits[start] = TermHit(start, end, number)
        return list(hits.values())

    def _end_of_any(self, text: str, start: int, phrases: Sequence[Phrase], language: str) -> int:
        ends = (self._end(text, start, phrase, language) for phrase in phrases)
        return next(filter(None, ends), 0)

    def _end(self, text: str, start: int, phrase: Phrase, language: str) -> int:
        """Where a phrase ends that begins at `start`; 0 if it does not."""
        at = start
        for said in phrase:
            word = _WORD.search(text, at, at + MAX_GAP_CHARS)
            if word is None or not self._is(word[0], said, language):
                return 0
            at = word.end()
        return at

    def _is(self, word: str, said: str, language: str) -> bool:
        folded = word if word.isascii() else "".join(words(word, 4))
        if said.endswith(PREFIX):
            return folded.startswith(said[:-1])
        return folded == said or self._stem(folded, language) == said

    def _stem(self, word: str, language: str) -> str:
        known = self._known.get((word, language))
        if known is None:
            known = self._known[word, language] = stem(word, language)
        return known


def _lowered(text: str) -> str:
    """The text in lower case and without accents, each letter at its place.

    Most texts have few signs beyond ASCII, and str.lower() takes long for all of a text that has one. Bytes
    are lowered at once, and what is left of them without ASCII is short.
    """
    if text.isascii():
        return text.lower()
    encoded = text.encode("utf-8", "surrogatepass")
    if _ACCENTED.search(encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")):
        encoded = _ACCENTED.sub(_aligned, text).encode("utf-8", "surrogatepass")
    return encoded.lower().decode("utf-8", "surrogatepass")


def _aligned(found: re.Match[str]) -> str:
    return align(found[0])


def best_passages(
    url: str, text: str, headings: Sequence[TextHeading], hits: Sequence[TermHit], terms: Sequence[Term]
) -> list[FoundPassage]:
    """The passages that a question is about, the best first."""
    passages = passages_of(text, headings, having=[hit.start for hit in hits])
    weighed = _weigh(passages, text, headings, hits)
    ranked = scores([one for _, one in weighed], {number: term.weight for number, term in enumerate(terms)})
    order = sorted(range(len(weighed)), key=lambda at: (-ranked[at], at))[:MAX_PASSAGES]
    good = [at for at in order if ranked[at] >= OTHER_PASSAGES * ranked[order[0]]]
    return [_shown(url, passages[weighed[at][0]], hits) for at in good]


def _weigh(
    passages: Sequence[Passage], text: str, headings: Sequence[TextHeading], hits: Sequence[TermHit]
) -> list[tuple[int, PassageWeights]]:
    """The passages with hits in their text or in a heading above, and what they have of each term."""
    starts = [passage.start for passage in passages]
    places = [heading.at for heading in headings]
    own: dict[int, dict[int, int]] = {}  # how often a passage has each term
    titled: dict[str, set[int]] = {}  # the terms of each heading
    for hit in hits:
        at = bisect_right(places, hit.start) - 1
        if at >= 0 and hit.start < headings[at].at + headings[at].size:
            name = text[headings[at].at : headings[at].at + headings[at].size]
            titled.setdefault(name, set()).add(hit.term)
        elif (at := bisect_right(starts, hit.start) - 1) >= 0:
            counts = own.setdefault(at, {})
            counts[hit.term] = counts.get(hit.term, 0) + 1
    weighed: list[tuple[int, PassageWeights]] = []
    for at, passage in enumerate(passages):
        weights = own.get(at, {})
        for depth, name in enumerate(reversed(passage.headings) if titled else ()):
            for term in titled.get(name, ()):
                weights[term] = weights.get(term, 0) + (ABOVE if depth or passage.continues else HEADING)
        if weights:
            weighed.append((at, PassageWeights(len(passage.text), weights)))
    return weighed


def _shown(url: str, passage: Passage, hits: Sequence[TermHit]) -> FoundPassage:
    end = passage.start + len(passage.text)
    spans = [
        MatchSpan(hit.start - passage.start, hit.end - passage.start)
        for hit in hits
        if passage.start <= hit.start and hit.end <= end
    ]
    snippet = excerpt(passage.text, spans) if spans else beginning(passage.text)
    first = spans[0].start if spans else 0
    return FoundPassage(passage.headings, snippet, link_to(url, passage, first))


def nearness(hits: Sequence[TermHit], terms: Sequence[Term]) -> float:
    """The weight of the terms that some short part of the text has, as a share of all."""
    weights = [term.weight for term in terms]
    total = sum(weights)
    counts = [0] * len(terms)  # in the part from the present hit on
    best = near = 0.0
    end = 0
    for hit in hits:
        while end < len(hits) and hits[end].start <= hit.start + NEAR_CHARS:
            added = hits[end].term
            near += 0.0 if counts[added] else weights[added]
            counts[added] += 1
            end += 1
        best = max(best, near)
        counts[hit.term] -= 1
        near -= 0.0 if counts[hit.term] else weights[hit.term]
    return best / total if total else 0.0


def _beginning(said: str) -> str:
    """What all forms of a word begin with. Stems may end with a letter that their words do not have."""
    plain = said.removesuffix(PREFIX)
    return plain[:-1] if len(plain) > 3 and plain[-1] in "iyz" else plain


def _places(text: str, begins: str) -> Iterable[int]:
    """Where words begin so."""
    is_character = is_unspaced(begins[0])
    at = text.find(begins)
    tried = 0
    while at >= 0 and tried < MAX_HITS:
        tried += 1
        before = text[at - 1] if at else " "
        if is_character or not before.isalnum() or (before >= UNSPACED[0] and is_unspaced(before)):
            yield at
        at = text.find(begins, at + 1)
