"""Extract: a URL and a schema in, data out; each value with where it came from.

1  the page: fetched, or by a browser if that is asked for or the page is an empty shell without one
2  the values in structured data, tables, labels and where the caller's selectors point (`ParserPool.extract`)
3  the rest from a language model, if there is one; its answer is checked against the page (`model_form`)
4  values that do not fit the schema are left out, and missing ones are named (`fitting`)
"""

import time
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from gossamer.flows.pages.caching import (
    Admit,
    CacheKey,
    Caching,
    MadeAnswer,
    admit_always,
    admit_or_pass,
    get_or_make,
    has,
    to_shared,
)
from gossamer.flows.pages.obtain import Obtained, Obtainer
from gossamer.flows.pages.page_model import PageModel, no_model
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Unavailable
from gossamer.reach.services.llm import SERVICE
from gossamer.state.cache import Cache
from gossamer.web.extract import model_form
from gossamer.web.extract.extraction import Extraction
from gossamer.web.extract.grounding import Ground
from gossamer.web.extract.model_form import ModelAnswer
from gossamer.web.extract.model_use import ModelUse
from gossamer.web.extract.schema import fitting
from gossamer.web.extract.schema.coercion import ValueReader
from gossamer.web.extract.schema.fitting import Fitted
from gossamer.web.extract.schema.schema import pointer
from gossamer.web.extract.value_spec import ValueSpec, selectors_of, spec_of
from gossamer.web.html.links import Addresses
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.pages.extract_request import ANYTHING, ExtractRequest, ExtractResult
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading_options import ReadingOptions

# Pages that stand in the place of the one that was asked for: they have none of its data.
_ANOTHER_PAGE: Final = frozenset({Outcome.BLOCKED, Outcome.SOFT_404, Outcome.PARKED, Outcome.ERROR})


class Extractor(Struct, frozen=True):
    obtainer: Obtainer
    parsers: ParserPool
    cache: Cache
    model: PageModel | None = None
    clock: Callable[[], float] = field(default=time.time)

    async def extract(self, request: ExtractRequest, caller: Caller) -> ExtractResult:
        """Fetch or render the page, and extract from it."""
        wanted = spec_of(request.data_schema)
        if request.data_schema is ANYTHING and self._model(request) is None:
            raise no_model(
                "Instructions alone need a language model, and none takes part here.",
                "Say what is wanted as `schema` or `fields`.",
            )
        await self.parsers.check_selectors(ReadingOptions(include=selectors_of(wanted)))
        obtained = await self._extract(request, caller)
        page, extraction = obtained.page, obtained.made
        if extraction.judgement.outcome in _ANOTHER_PAGE:
            extraction = replace(extraction, data=[] if wanted.is_list else {}, sources={})
        fitted = fitting.fit(request.data_schema, wanted, extraction.data, extraction.sources, complete=False)
        fitted, used = await self._fill_in(request, wanted, page, extraction, fitted)
        result = _to_result(request, page, extraction, fitted, used, self.clock())
        return msgspec.structs.replace(result, actions=obtained.actions, cookies=obtained.cookies)

    async def extract_cached(
        self, request: ExtractRequest, caller: Caller, caching: Caching, admit: Admit = admit_always
    ) -> tuple[ExtractResult, CachePart]:
        """From the cache, or extracted and kept there. Only a good result is kept."""
        common = to_shared(request)
        key = self._key(common, caching, caller.tier)

        async def make() -> MadeAnswer:
            await admit_or_pass(admit)
            made = await self.extract(common, caller)
            return MadeAnswer(msgspec.msgpack.encode(made), made.fetched_at, _is_good(made))

        extracted, part = await get_or_make(
            self.cache, caching, key, ExtractResult, make, patience=request.seconds
        )
        return msgspec.structs.replace(extracted, url=request.address.href), part

    async def has(self, request: ExtractRequest, caching: Caching) -> bool:
        return await has(self.cache, caching, self._key(to_shared(request), caching))

    def _key(self, request: ExtractRequest, caching: Caching, tier: str = "") -> CacheKey:
        model = self._model(request)
        parameters = request.parameters(model.name if model else "")
        return CacheKey.of("extract", caching.tenant, parameters, (request.seconds, tier))

    # The page.

    async def _extract(self, request: ExtractRequest, caller: Caller) -> Obtained[Extraction]:
        with_text = self._model(request) is not None

        async def extract(page: Page) -> Extraction:
            return await self.parsers.extract(page, request.data_schema, with_text=with_text)

        return await self.obtainer.obtain(
            request, caller, extract, lambda found: found.judgement.reason == "script_needed"
        )

    # The model.

    def _model(self, request: ExtractRequest) -> PageModel | None:
        return self.model if request.model else None

    async def _fill_in(
        self, request: ExtractRequest, wanted: ValueSpec, page: Page, extraction: Extraction, found: Fitted
    ) -> tuple[Fitted, ModelUse | None]:
        """Ask the model for missing values, but only if this is the page that was asked for."""
        model = self._model(request)
        if model is None or extraction.judgement.outcome is not Outcome.OK:
            return _finish(request, wanted, found), None
        form = model_form.build_form(
            wanted,
            found.missing,
            instructions=request.instructions,
            url=page.final_url,
            text=extraction.text,
            boundary=model.boundary(),
        )
        if form is None:
            return _finish(request, wanted, found), None
        said, used = await model.ask(form)
        if used.status == "failed":
            if request.data_schema is ANYTHING:
                raise Unavailable(SERVICE, used.reason)
            return _finish(request, wanted, found), used
        reader = ValueReader(Addresses(page.final_url), extraction.language)
        answered = model_form.read_answer(said, form, wanted, Ground(extraction.text), reader)
        return _finish(request, wanted, _join(found, answered)), used


def _join(found: Fitted, answered: ModelAnswer) -> Fitted:
    data, sources = found.data, dict(found.sources)
    for path, piece in answered.pieces:
        data = model_form.fill_in(data, path, piece)
        sources |= {pointer(path) + at: source for at, source in piece.sources.items()}
    return replace(found, data=data, sources=sources, rejected=(*found.rejected, *answered.rejected))


def _finish(request: ExtractRequest, wanted: ValueSpec, found: Fitted) -> Fitted:
    """Fit the data for the last time: an object that lacks something required is left out."""
    fitted = fitting.fit(request.data_schema, wanted, found.data, found.sources, complete=True)
    return replace(fitted, rejected=(*found.rejected, *fitted.rejected))


def _to_result(
    request: ExtractRequest,
    page: Page,
    extraction: Extraction,
    fitted: Fitted,
    used: ModelUse | None,
    now: float,
) -> ExtractResult:
    return ExtractResult(
        url=request.address.href,
        final_url=page.final_url,
        status=page.status,
        media_type=page.media_type,
        via=page.via,
        outcome=extraction.judgement.outcome,
        reason=extraction.judgement.reason,
        title=extraction.title,
        data=fitted.data,
        sources=fitted.sources,
        missing=tuple(map(pointer, fitted.missing)),
        rejected=fitted.rejected,
        valid=fitted.valid,
        cut=extraction.cut,
        fetched_at=now,
        elapsed_ms=page.elapsed_ms,
        model=used or UNSET,
    )


def _is_good(extracted: ExtractResult) -> bool:
    return extracted.outcome is Outcome.OK and not (extracted.model and extracted.model.status == "failed")
