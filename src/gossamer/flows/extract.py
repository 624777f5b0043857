"""Extract: a URL and a schema in, data out; each value with where it came from.

1  the page: fetched, or by a browser where that is asked for or the page is an empty shell without it
2  what the page says in structured data, tables, labels and where the caller's selectors point (`harvest`)
3  what is left is asked of a language model, if there is one, and held against the page (`asking`)
4  what does not fit the schema is left out, and what is missing is named (`fitting`)
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import msgspec

from gossamer.flows.admit import Caller
from gossamer.flows.caching import Caching, Made, Part, has, keys, through
from gossamer.flows.obtain import Errand, Obtainer, Rendering
from gossamer.flows.workshop import Workshop
from gossamer.logs import Log
from gossamer.problems import UNPROCESSABLE_ENTITY, Problem, Unavailable
from gossamer.reach.llm import Model
from gossamer.state.cache import Cache
from gossamer.web.links import Addresses
from gossamer.web.outcome import Outcome
from gossamer.web.page import Page
from gossamer.web.reading import How
from gossamer.web.structured import asking, fitting
from gossamer.web.structured.asking import Answered
from gossamer.web.structured.coercion import Reader
from gossamer.web.structured.fitting import Fitted, Rejected
from gossamer.web.structured.grounding import Ground
from gossamer.web.structured.harvest import Harvest
from gossamer.web.structured.piece import Sources
from gossamer.web.structured.schema import Schema, pointer
from gossamer.web.structured.wanted import Wanted, selectors_of, wanted_of
from gossamer.web.url import Url, cache_form

ANYTHING: Final = Schema({})  # where there are only instructions
# What stands in the place of the page; what it says is not what was asked for.
_ANOTHER_PAGE: Final = frozenset({Outcome.BLOCKED, Outcome.SOFT_404, Outcome.PARKED, Outcome.ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be got out of which page."""

    url: Url
    schema: Schema = ANYTHING
    instructions: str = ""
    ask_model: bool = True
    render: Rendering = "never"
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 10.0  # seconds for the page; not part of the key

    def parameters(self, model: str) -> dict[str, object]:
        """All that the answer depends on."""
        return {
            "url": cache_form(self.url),
            "schema": self.schema.document,
            "instructions": self.instructions,
            "model": model,
            "render": self.render,
            "headers": sorted((name.lower(), value) for name, value in self.headers),
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """How a language model took part."""

    name: str
    failure: str = ""  # why there is no answer of it
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    url: str
    final_url: str
    status: int
    media_type: str
    via: Literal["fetch", "render"]
    outcome: Outcome
    reason: str
    title: str
    data: Any
    sources: Sources
    missing: tuple[str, ...]  # JSON pointers
    rejected: tuple[Rejected, ...]
    valid: bool  # holds to the schema in every respect
    cut: bool
    fetched_at: float  # Unix seconds
    elapsed_ms: int
    model: Asked | None = None


@dataclass(frozen=True, slots=True)
class Extractor:
    obtainer: Obtainer
    workshop: Workshop
    cache: Cache
    log: Log
    model: Model | None = None
    clock: Callable[[], float] = field(default=time.time)
    boundary: Callable[[], str] = field(default=lambda: f"page-{secrets.token_hex(16)}")

    async def extract(self, wish: Wish, caller: Caller) -> Extracted:
        """Here and now."""
        wanted = wanted_of(wish.schema)
        if wish.schema is ANYTHING and self._model(wish) is None:
            raise _nobody_to_instruct()
        await self.workshop.check(How(include=selectors_of(wanted)))
        page, harvest = await self._harvested(wish, caller)
        if harvest.judgement.outcome in _ANOTHER_PAGE:
            harvest = replace(harvest, data=[] if wanted.is_list else {}, sources={})
        fitted = fitting.fit(wish.schema, wanted, harvest.data, harvest.sources, complete=False)
        fitted, asked = await self._filled(wish, wanted, page, harvest, fitted)
        return _extracted(wish, page, harvest, fitted, asked, self.clock())

    async def extract_through(self, wish: Wish, caller: Caller, caching: Caching) -> tuple[Extracted, Part]:
        """From the cache, or into it. Only what turned out well is kept."""

        async def make() -> Made:
            made = await self.extract(wish, caller)
            return Made(msgspec.msgpack.encode(made), made.fetched_at, _is_good(made))

        key = self._key(wish, caching)
        extracted, part = await through(self.cache, caching, key, Extracted, make, patience=wish.timeout)
        return replace(extracted, url=wish.url.href), part

    async def has(self, wish: Wish, caching: Caching) -> bool:
        return await has(self.cache, caching, self._key(wish, caching))

    def _key(self, wish: Wish, caching: Caching) -> tuple[str, str]:
        model = self._model(wish)
        return keys("extract", caching.tenant, wish.parameters(model.name if model else ""))

    # The page.

    async def _harvested(self, wish: Wish, caller: Caller) -> tuple[Page, Harvest]:
        with_text = self._model(wish) is not None

        async def harvest(page: Page) -> Harvest:
            return await self.workshop.harvest(page, wish.schema, with_text=with_text)

        errand = Errand(url=wish.url, headers=wish.headers, timeout=wish.timeout, render=wish.render)
        return await self.obtainer.obtain(errand, caller, harvest, lambda made: made.judgement)

    # The model.

    def _model(self, wish: Wish) -> Model | None:
        return self.model if wish.ask_model else None

    async def _filled(
        self, wish: Wish, wanted: Wanted, page: Page, harvest: Harvest, found: Fitted
    ) -> tuple[Fitted, Asked | None]:
        """What the model adds to what was found, and only if it is the page that was asked for."""
        model = self._model(wish)
        if model is None or harvest.judgement.outcome is not Outcome.OK:
            return _finished(wish, wanted, found), None
        form = asking.form(
            wanted,
            found.missing,
            instructions=wish.instructions,
            url=page.final_url,
            text=harvest.text,
            boundary=self.boundary(),
        )
        if form is None:
            return _finished(wish, wanted, found), None
        try:
            answer = await model.answer(form.system, form.prompt, form.schema)
        except Unavailable as away:
            if wish.schema is ANYTHING:
                raise
            why = str(away.members["details"]["reason"])
            self.log.warning("model_away", "what a model was to fill in is missing", why=why)
            return _finished(wish, wanted, found), Asked(model.name, why)
        reader = Reader(Addresses(page.final_url), harvest.language)
        answered = asking.answered(answer.value, form, wanted, Ground(harvest.text), reader)
        asked = Asked(model.name, "", answer.input_tokens, answer.output_tokens)
        return _finished(wish, wanted, _joined(found, answered)), asked


def _joined(found: Fitted, answered: Answered) -> Fitted:
    data, sources = found.data, dict(found.sources)
    for path, piece in answered.pieces:
        data = asking.filled(data, path, piece)
        sources |= {pointer(path) + at: source for at, source in piece.sources.items()}
    return replace(found, data=data, sources=sources, rejected=(*found.rejected, *answered.rejected))


def _finished(wish: Wish, wanted: Wanted, found: Fitted) -> Fitted:
    """Nothing more comes: what lacks something required is left out."""
    fitted = fitting.fit(wish.schema, wanted, found.data, found.sources, complete=True)
    return replace(fitted, rejected=(*found.rejected, *fitted.rejected))


def _nobody_to_instruct() -> Problem:
    return Problem(
        UNPROCESSABLE_ENTITY,
        "Instructions alone need a language model, and none takes part here.",
        hint="Say what is wanted as `schema` or `fields`; who runs the server can set ANTHROPIC_API_KEY.",
        details={"reason": "no_model"},
    )


def _extracted(
    wish: Wish, page: Page, harvest: Harvest, fitted: Fitted, asked: Asked | None, now: float
) -> Extracted:
    return Extracted(
        url=wish.url.href,
        final_url=page.final_url,
        status=page.status,
        media_type=page.media_type,
        via=page.via,
        outcome=harvest.judgement.outcome,
        reason=harvest.judgement.reason,
        title=harvest.title,
        data=fitted.data,
        sources=fitted.sources,
        missing=tuple(map(pointer, fitted.missing)),
        rejected=fitted.rejected,
        valid=fitted.valid,
        cut=harvest.cut,
        fetched_at=now,
        elapsed_ms=page.elapsed_ms,
        model=asked,
    )


def _is_good(extracted: Extracted) -> bool:
    return extracted.outcome is Outcome.OK and not (extracted.model and extracted.model.failure)
