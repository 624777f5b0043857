"""Choose implementations by the settings. Optional packages, and what most processes never use, are imported
only when they are chosen."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote, urlsplit

from gossamer import __version__
from gossamer.flows.alerts.evaluator import SENDER, AlertEvaluator
from gossamer.flows.alerts.rules import Thresholds
from gossamer.flows.alerts.situation import Surveyor
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.flows.pages.page_model import PageModel
from gossamer.flows.pages.search import Finder, IndexSource, ProviderSource, SearchSource
from gossamer.flows.sites.rule_file import BadRuleFile, read_rule_file
from gossamer.flows.tenants.people import People
from gossamer.flows.tenants.sign_in import SignIn
from gossamer.flows.tenants.single_sign_on import SingleSignOn
from gossamer.flows.upkeep.gauges import Gauges
from gossamer.flows.upkeep.health import Checkup, Probe
from gossamer.flows.upkeep.watch import Watch
from gossamer.flows.webhooks.composing import Composer, EventShape, NativeEvents
from gossamer.flows.webhooks.delivery import Webhooks
from gossamer.flows.webhooks.sending import WebhookSender
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.observe import traces
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.observe.sentry import Sentry
from gossamer.observe.telemetry import Telemetry
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.browser.launcher import Launcher, LocalLauncher
from gossamer.reach.http.post import PostClient
from gossamer.reach.net.certificates import Certificates
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.upstreams import Upstreams
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox.fence import Fence
from gossamer.reach.services.llm import Model
from gossamer.reach.services.llm_anthropic import AnthropicModel
from gossamer.reach.services.llm_openai import OpenAiModel
from gossamer.reach.services.oidc import OidcProvider
from gossamer.reach.services.search import Brave, Provider, SearXNG
from gossamer.settings.settings import SettingError, Settings
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.db.database import Database
from gossamer.state.jobs.batches import BatchLines
from gossamer.state.kv.hot import Hot
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants.limits import Limits
from gossamer.state.webhooks.endpoints import NATIVE
from gossamer.web.extract.model_use import TokenPrices
from gossamer.web.sites.site_rule import SiteRule

if TYPE_CHECKING:
    from gossamer.flows.embeddings.embeddings import Embeddings
    from gossamer.flows.pay.pay import Payments
    from gossamer.reach.services.embeddings import EmbeddingModel


class WatchedService(Protocol):
    """The parts of `app.py` that operators are told about."""

    settings: Settings
    worker_name: str
    database: Database
    crawl_stats: CrawlStats
    checkup: Checkup
    page_cache: PageCache
    finder: Finder
    payments: "Payments | None"
    crawl_results: CrawlResults
    batch_lines: BatchLines
    webhook_keys: WebhookKeys
    dialer: Dialer
    metrics: Metrics
    log: Log


def open_hot(settings: Settings) -> Hot:
    if not settings.is_hot_shared:
        return MemoryHot()
    from gossamer.state.kv.hot_redis import RedisHot  # an extra

    return RedisHot(settings.redis_url)


def open_model(settings: Settings, log: Log) -> PageModel | None:
    """A model that is named wins over a key that may be in the environment for another program."""
    if settings.openai_model:
        model: Model = OpenAiModel(
            settings.openai_model, base_url=settings.openai_base_url, key=settings.openai_api_key
        )
    elif settings.anthropic_api_key:
        model = AnthropicModel(
            settings.anthropic_api_key, settings.anthropic_model, base_url=settings.anthropic_base_url
        )
    else:
        return None
    prices = TokenPrices(settings.model_price_input.dollars, settings.model_price_output.dollars)
    return PageModel(model, log, prices if any(prices) else None)


def open_search_engines(settings: Settings) -> dict[str, Provider]:
    opened: dict[str, Provider] = {}
    if "searxng" in settings.search_providers:
        if not settings.searxng_url:
            raise SettingError("search_providers has searxng, which needs searxng_url: where it is")
        opened["searxng"] = SearXNG(settings.searxng_url, settings.user_agent)
    if "brave" in settings.search_providers:
        key = settings.brave_api_key
        if not key or not key.isascii() or not key.isprintable():
            raise SettingError("search_providers has brave, which needs brave_api_key, in visible ASCII")
        opened["brave"] = Brave(key, settings.brave_base_url, settings.user_agent)
    return opened


def open_embeddings(settings: Settings, database: Database, name: str, log: Log) -> "Embeddings | None":
    """None unless a model is set, and the index is searched. Nothing is imported then."""
    if not settings.embeddings_model or "index" not in settings.search_providers:
        return None
    from gossamer.flows.embeddings.embedding_indexer import EmbeddingIndexer
    from gossamer.flows.embeddings.embedding_source import EmbeddingSource
    from gossamer.flows.embeddings.embeddings import Embeddings
    from gossamer.state.search.search_vectors import SearchVectors

    model = _open_embedding_model(settings)
    vectors = SearchVectors(database)
    source = EmbeddingSource(model, vectors, settings.embeddings_similarity)
    return Embeddings(model, vectors, source, EmbeddingIndexer(name, model, vectors, database, log))


def _open_embedding_model(settings: Settings) -> "EmbeddingModel":
    from gossamer.reach.models.model_files import LOCAL, UnusableModel, find_model
    from gossamer.reach.services.embeddings import EmbeddingService

    if not settings.embeddings_model.startswith(LOCAL):
        return EmbeddingService(
            settings.embeddings_model,
            base_url=settings.embeddings_base_url,
            key=settings.embeddings_api_key,
            dimensions=settings.embeddings_dimensions,
        )
    from gossamer.reach.models.local_model import LocalModel  # an extra

    try:
        return LocalModel(find_model(settings.embeddings_model), threads=settings.embeddings_threads)
    except UnusableModel as unusable:
        raise SettingError(f"embeddings_model: {unusable}") from None


def sources(
    settings: Settings,
    index: SearchIndex,
    engines: Mapping[str, Provider],
    embeddings: "Embeddings | None",
) -> dict[str, SearchSource]:
    """The sources of a search, in the order of the setting; embeddings stand beside the index."""
    found: dict[str, SearchSource] = {}
    for name in settings.search_providers:
        found[name] = IndexSource(index) if name == "index" else ProviderSource(engines[name])
        if name == "index" and embeddings is not None:
            found["embeddings"] = embeddings.source
    return found


def open_single_sign_on(settings: Settings, people: People, sign_in: SignIn, hot: Hot) -> SingleSignOn | None:
    """None unless an OpenID Connect provider is set."""
    if not settings.oidc_issuer:
        return None
    if not (settings.oidc_client_id and settings.oidc_client_secret):
        raise SettingError(
            "oidc_issuer needs oidc_client_id and oidc_client_secret, as the provider gave them"
        )
    provider = OidcProvider(
        settings.oidc_issuer.rstrip("/"),
        settings.oidc_client_id,
        settings.oidc_client_secret,
        f"{settings.public_url}/app/oidc/callback",
    )
    return SingleSignOn(settings.oidc_name, provider, people, sign_in, hot, settings.oidc_domains)


def open_payments(
    settings: Settings, hot: Hot, limits: Limits, database: Database, log: Log, metrics: Metrics
) -> "Payments | None":
    """None unless both wallets are set."""
    if not (settings.wallet_address and settings.wallet_svm):
        if settings.wallet_address or settings.wallet_svm:
            log.warning("payments_off", "payments need both wallet_address and wallet_svm, and are off")
        return None
    from gossamer.assembly.payments import take_payments

    return take_payments(settings, hot, limits, database, log, metrics)


def facilitator_probes(payments: "Payments | None") -> dict[str, Probe]:
    if payments is None:
        return {}
    payees = payments.settling.payees.values()
    asked = {f"facilitators.{payee.facilitator.name}": Probe(payee.facilitator.ping) for payee in payees}
    return asked | {
        f"chains.{payee.network.name}": Probe(payee.chain.ping) for payee in payees if payee.chain
    }


def upstream_probes(upstreams: Upstreams | None) -> dict[str, Probe]:
    return {} if upstreams is None else {"upstreamProxies": Probe(upstreams.ask)}


def open_telemetry(settings: Settings, log: Log, name: str) -> Telemetry:
    """Traces and reports of defects, as far as they are set up."""
    if settings.otel_endpoint:
        traces.install(settings.otel_endpoint, version=__version__, instance=name)
    sentry = Sentry(settings.sentry_dsn, version=__version__, instance=name) if settings.sentry_dsn else None
    log.on_defect = sentry.report if sentry is not None else None
    return Telemetry(sentry)


def open_event_shape(settings: Settings, results: CrawlResults, lines: BatchLines, name: str) -> EventShape:
    """How events are written, by the name that a subscription gives it."""
    if name == NATIVE:
        return NativeEvents(settings.public_url)
    from gossamer.assembly.dropin import firecrawl_events  # most processes never write it

    return firecrawl_events(settings, results, lines)


def open_watch(service: WatchedService) -> Watch:
    settings, database, metrics, log = service.settings, service.database, service.metrics, service.log
    folders = {"data": settings.data_dir}
    if settings.blobs_url.startswith("file:"):
        folders["blobs"] = Path(unquote(urlsplit(settings.blobs_url).path))
    surveyor = Surveyor(database, service.crawl_stats, service.checkup, folders)
    payees = service.payments.settling.payees.values() if service.payments is not None else ()
    paid = (settings.cdp_facilitator_url, settings.payai_facilitator_url) if payees else ()
    evaluator = AlertEvaluator(
        service.worker_name,
        database,
        surveyor,
        Certificates((settings.public_url, *paid)),
        Thresholds.of(settings),
        settings.alert_webhooks,
        metrics,
        log,
    )
    client = PostClient(service.dialer, settings.user_agent)
    secrets = {SENDER: settings.alert_webhook_secret}
    shape = partial(open_event_shape, settings, service.crawl_results, service.batch_lines)
    composer = Composer(database, service.webhook_keys, shape)
    sender = WebhookSender(client, secrets, composer, log)
    breakers = {
        "database": database.breaker,
        "blobs": service.page_cache.cold_breaker,
        **{f"search.{name}": breaker for name, breaker in service.finder.breakers.items()},
        **{f"facilitators.{payee.facilitator.name}": payee.facilitator.breaker for payee in payees},
    }
    return Watch(
        evaluator,
        Webhooks(database, sender, metrics, log),
        Gauges(metrics, surveyor, evaluator, breakers),
    )


def open_launcher(settings: Settings, proxy: Proxy, log: Log, metrics: Metrics) -> Launcher:
    if not settings.browser_url:
        return LocalLauncher(settings.chromium, proxy, Fence(settings.fence, log, metrics))
    if not settings.browser_proxy_url:
        raise SettingError("browser_url needs browser_proxy_url: where that Chromium reaches our proxy")
    from gossamer.reach.browser.remote import Remotes  # an extra

    return Remotes(settings.browser_url, settings.browser_proxy_url, proxy, log)


def open_browsers(
    settings: Settings, proxy: Proxy, launcher: Launcher, log: Log, metrics: Metrics
) -> Browsers:
    return Browsers(
        proxy,
        launcher,
        log,
        metrics,
        places=settings.browser_places,
        visits_each=settings.browser_visits,
        megabytes_each=settings.browser_megabytes,
        queue=settings.browser_queue,
        user_agent=settings.user_agent,
    )


def read_operator_rules(settings: Settings) -> tuple[SiteRule, ...]:
    if not settings.site_rules:
        return ()
    try:
        return read_rule_file(Path(settings.site_rules).expanduser())
    except BadRuleFile as error:
        raise SettingError(f"GOSSAMER_SITE_RULES: {error}") from None
