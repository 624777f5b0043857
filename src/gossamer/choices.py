"""Choices: which implementation a setting means. What is an extra is imported where it is chosen."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gossamer.flows.find import Elsewhere, OwnIndex, Source
from gossamer.flows.health import Probe
from gossamer.flows.pay import Payments
from gossamer.flows.quotes import Quotes, prices
from gossamer.flows.settling import Settling
from gossamer.flows.till import check_wallets, tills
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.reach import chromium
from gossamer.reach.browser import Browsers
from gossamer.reach.llm import Model
from gossamer.reach.proxy import Proxy
from gossamer.reach.search import Provider
from gossamer.reach.search_brave import Brave
from gossamer.reach.search_searxng import SearXNG
from gossamer.settings import SettingError, Settings
from gossamer.state.database import Database
from gossamer.state.hot import Hot
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.limits import Limits
from gossamer.state.search_index import SearchIndex

if TYPE_CHECKING:
    from gossamer.reach.remote import Remotes


def is_hot_shared(settings: Settings) -> bool:
    """With the other processes."""
    return settings.redis_url not in ("", "memory://")


def open_hot(settings: Settings) -> Hot:
    if not is_hot_shared(settings):
        return MemoryHot()
    from gossamer.state.hot_redis import RedisHot  # an extra

    return RedisHot(settings.redis_url)


def open_model(settings: Settings) -> Model | None:
    if not settings.anthropic_api_key:
        return None
    return Model(settings.anthropic_api_key, settings.anthropic_model, base_url=settings.anthropic_base_url)


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


def sources(settings: Settings, index: SearchIndex, engines: Mapping[str, Provider]) -> dict[str, Source]:
    """Who is asked by a search, in the order of the setting."""
    return {
        name: OwnIndex(index) if name == "index" else Elsewhere(engines[name])
        for name in settings.search_providers
    }


def open_payments(
    settings: Settings, hot: Hot, limits: Limits, database: Database, log: Log, metrics: Metrics
) -> Payments | None:
    """Both wallets, or no payments."""
    if not (settings.wallet_address and settings.wallet_svm):
        if settings.wallet_address or settings.wallet_svm:
            log.warning("payments_off", "payments need both wallet_address and wallet_svm, and are off")
        return None
    if find_spec("x402") is None:
        raise SettingError("payments need their client: install gossamer[pay], or set no wallet")
    check_wallets(settings)
    quotes = Quotes(prices(settings), hot, limits, seconds=settings.quote_seconds)
    taken = {till.network.id: till for till in tills(settings, log)}
    return Payments(Settling(taken, database, log, metrics), quotes, database, log)


def facilitator_probes(payments: Payments | None) -> dict[str, Probe]:
    if payments is None:
        return {}
    asked = {till.facilitator.name: till.facilitator for till in payments.settling.tills.values()}
    return {f"facilitators.{name}": Probe(facilitator.ping) for name, facilitator in asked.items()}


def open_remotes(settings: Settings, proxy: Proxy, log: Log) -> "Remotes | None":
    if not settings.browser_url:
        return None
    if not settings.browser_proxy_url:
        raise SettingError("browser_url needs browser_proxy_url: where that Chromium reaches our proxy")
    from gossamer.reach.remote import Remotes  # an extra

    return Remotes(settings.browser_url, settings.browser_proxy_url, proxy, log)


def open_browsers(
    settings: Settings, proxy: Proxy, remotes: "Remotes | None", log: Log, metrics: Metrics
) -> Browsers:
    return Browsers(
        proxy,
        chromium.find(settings.chromium),
        log,
        metrics,
        places=settings.browser_places,
        visits_each=settings.browser_visits,
        megabytes_each=settings.browser_megabytes,
        queue=settings.browser_queue,
        user_agent=settings.user_agent,
        launch=remotes.launch if remotes else None,
        context=remotes.context if remotes else None,
    )
