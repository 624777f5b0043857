# ruff: noqa: E501, RUF009 - each setting is one line of a table, whatever its length
"""Settings: everything that an operator can configure, one line each, read once at the start.

A value comes from the command line (`--port`), the environment (`GOSSAMER_PORT`), the `.env` file or the
default, in this order; an empty value counts as not set. Some settings have a second, unprefixed name; two
names with different values stop the start. A wrong value raises `SettingError`, whose text is one line that
names the setting, its source, the value and what is expected.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from msgspec import Struct

from gossamer import __version__
from gossamer.settings.upstream import Upstream, upstream
from gossamer.settings.values import (
    Expected,
    Lifetime,
    Money,
    Network,
    Parse,
    PerTier,
    Rate,
    address_block,
    base,
    choice,
    closest,
    duration,
    lifetime,
    link,
    list_of,
    matching,
    money,
    money_or_none,
    or_all,
    origin,
    path,
    per_hour,
    per_tier,
    rate,
    share,
    store,
    switch,
    webhook_secret,
    whole,
)

__all__ = [
    "Settings", "SettingError", "Rate", "Money", "Network", "Setting", "ShownSetting",
    "declarations", "variable", "flag", "render", "markdown_table", "MASK", "PREFIX",
    "CDP_FACILITATOR", "TEST_FACILITATOR",
]  # fmt: skip

PREFIX: Final = "GOSSAMER_"
MASK: Final = "********"
DROP_IN: Final = ("firecrawl", "prerender", "jina", "crawl4ai", "tavily", "browserless")
CDP_FACILITATOR: Final = "https://api.cdp.coinbase.com/platform/v2/x402"
DAY: Final = 86_400  # seconds
TEST_FACILITATOR: Final = "https://x402.org/facilitator"  # for test networks only

# Computes a default from the settings declared before it and the environment.
Derive = Callable[[Mapping[str, Any], Mapping[str, str]], Any]


class SettingError(Exception):
    """A setting is wrong; the text is one line to print before stopping."""


# Defaults computed from other settings.


def _public_url(known: Mapping[str, Any], _environ: Mapping[str, str]) -> str:
    host, port = known["host"], known["port"]
    host = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{host}:{port}"


def _user_agent(known: Mapping[str, Any], _environ: Mapping[str, str]) -> str:
    """Name the public URL as a contact only if sites can reach it."""
    contact = f" (+{known['public_url']})" if _is_public(known["public_url"]) else ""
    return f"Gossamer/{__version__}{contact}"


def _is_public(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".localhost", ".local", ".internal", ".test"))


def _data_dir(_known: Mapping[str, Any], environ: Mapping[str, str]) -> Path:
    xdg, home = Path(environ.get("XDG_DATA_HOME", "")), Path(environ.get("HOME", ""))
    if xdg.is_absolute():  # the XDG specification says to ignore a relative path
        return xdg / "gossamer"
    # A container may have no home; data then goes into the folder where the server was started.
    return home / ".local" / "share" / "gossamer" if home.is_absolute() else Path("data").absolute()


def _database_url(known: Mapping[str, Any], _environ: Mapping[str, str]) -> str:
    return f"sqlite:///{known['data_dir']}/gossamer.db"


def _cdp_facilitator_url(known: Mapping[str, Any], _environ: Mapping[str, str]) -> str:
    return CDP_FACILITATOR if known["cdp_api_key_id"] else TEST_FACILITATOR


def _blobs_url(known: Mapping[str, Any], _environ: Mapping[str, str]) -> str:
    return str((known["data_dir"] / "blobs").as_uri())


class Setting(Struct, frozen=True):
    """The declaration of one setting."""

    default: object
    about: str
    parse: Parse
    alias: str
    alias_parse: Parse
    secret: bool
    derive: Derive | None  # then `default` is its description


def setting(
    default: object,
    about: str,
    *,
    parse: Parse = str,
    alias: str = "",
    alias_parse: Parse | None = None,
    secret: bool = False,
    derive: Derive | None = None,
) -> Any:
    line = Setting(default, about, parse, alias, alias_parse or parse, secret, derive)
    return field(metadata={"setting": line})


class ShownSetting(NamedTuple):
    name: str
    value: str  # masked
    source: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    # fmt: off
    host: str = setting("127.0.0.1", "Address to listen on; 0.0.0.0 listens on all addresses of this machine", parse=matching(r"[\w.:-]+", "an address or a host name"))
    port: int = setting(8080, "Port to listen on; 0 picks a free one", parse=whole(0, 65535))
    processes: int = setting(1, "Server processes that share the port, to use more cores; more than one needs redis_url", parse=whole(1, 64))
    public_url: str = setting("http://{host}:{port}", "Public address of this server; links and problem types begin with it", parse=base, derive=_public_url)
    data_dir: Path = setting("~/.local/share/gossamer", "Folder for the embedded database and files; XDG_DATA_HOME moves the default", parse=path, derive=_data_dir)
    database_url: str = setting("sqlite:///{data_dir}/gossamer.db", "SQLite file or PostgreSQL server", parse=store("sqlite", "postgresql", "postgres"), derive=_database_url)
    redis_url: str = setting("", "Redis or Valkey server; also rediss:// (TLS), redis+sentinel://host,host/name and redis+cluster://host,host; empty or memory:// keeps hot data in the process", parse=store("redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "memory"))
    blobs_url: str = setting("file://{data_dir}/blobs", "Folder or S3-compatible bucket for page bodies", parse=store("file", "s3"), derive=_blobs_url)

    backup_url: str = setting("", "Folder or S3-compatible bucket for backups, where gossamer backup names none", parse=store("file", "s3"))
    backup_key: str = setting("", "Key that encrypts backups; without it they cannot be restored. Empty leaves them readable", secret=True, parse=matching(r"[\x20-\x7e]{16,1000}", "at least 16 characters of ASCII"))
    backup_max_age: float = setting(0.0, "Seconds after which the last good backup counts as too old; 0 expects none", parse=duration(0, 31_622_400))

    log_level: str = setting("info", "Lowest level that is logged: debug, info, warning or error", parse=choice("debug", "info", "warning", "error"))
    log_format: str = setting("auto", "json, text, or auto: text on a terminal, otherwise one JSON object a line", parse=choice("auto", "json", "text"))
    access_log: bool = setting(True, "Log a line for every request; answers of 500 and above are always logged", parse=switch)

    metrics_token: str = setting("", "Bearer token with which Prometheus may read /metrics; without it only callers on this machine, and admins", secret=True, parse=matching(r"[!-~]{16,255}", "16 to 255 visible ASCII characters"))
    metrics_host: str = setting("127.0.0.1", "Address at which gossamer worker serves /metrics and /health", parse=matching(r"[\w.:-]+", "an address or a host name"))
    metrics_port: int = setting(0, "Port at which it does so; 0 turns it off", parse=whole(0, 65535))
    otel_endpoint: str = setting("", "Address of an OpenTelemetry collector (OTLP over HTTP) that gets traces; empty turns them off", parse=base, alias="OTEL_EXPORTER_OTLP_ENDPOINT")
    sentry_dsn: str = setting("", "Sentry project that gets unexpected errors; empty turns it off", secret=True, parse=link, alias="SENTRY_DSN")
    alert_webhooks: tuple[str, ...] = setting((), "URLs that are told when an alert is raised or resolved; private ones must be in egress_allow", parse=list_of(link))
    alert_webhook_secret: str = setting("", "Secret that signs them, as Standard Webhooks say: whsec_ and 24 to 64 bytes in base64", secret=True, parse=webhook_secret)
    alert_error_percent: int = setting(20, "Share of 4xx and 5xx answers to crawls above which an alert is raised", parse=whole(1, 100))
    alert_queue_minutes: int = setting(15, "Minutes that the oldest job may wait before an alert is raised", parse=whole(1, 10_000))
    alert_disk_percent: int = setting(10, "Share of the disk that must be free, or an alert is raised", parse=whole(0, 100))
    alert_certificate_days: int = setting(14, "Days that certificates of the public URL and of facilitators must still be valid", parse=whole(0, 1_000))

    trusted_proxies: tuple[Network, ...] | Literal["*"] = setting((), "Networks whose X-Forwarded-For is trusted; * if a platform overwrites the header", parse=or_all(list_of(address_block)))
    cors_origins: tuple[str, ...] = setting((), "Origins whose pages may call the API from a browser; empty turns CORS off", parse=list_of(origin))
    drop_in: tuple[str, ...] = setting(DROP_IN, "Other products whose clients are served, each by its own paths; empty serves none", parse=list_of(choice(*DROP_IN)))
    prerender_host: str = setting("", "Host name of its own for Prerender's clients, which then need no path: https://name/https://site/page; empty serves them at /prerender only", parse=matching(r"[a-z0-9.-]+", "a host name in lower case, without a port"))
    prerender_seconds: float = setting(5.0, "Seconds for which a robot waits there for a page that is not cached; then it gets the page as its own server sends it", parse=duration(0, 30))
    mcp: bool = setting(True, "Serve tools over MCP at /mcp, if gossamer[mcp] is installed", parse=switch)
    max_request_bytes: int = setting(1_000_000, "Largest request body, in bytes", parse=whole(1_000, 1_000_000_000))
    max_requests: int = setting(500, "Requests in progress; further ones get 503", parse=whole(1, 1_000_000))
    request_deadline: float = setting(30.0, "Seconds after which a request gets 503", parse=duration(1, 3600))
    lame_duck_seconds: float = setting(1.0, "Seconds for which a stopping server reports it at /health/ready and keeps serving, before it stops accepting connections; Ctrl-C skips them", parse=duration(0, 3600))
    drain_seconds: float = setting(5.0, "Seconds for which running requests and jobs may then continue; remaining requests get 503, and remaining jobs go back to the queue", parse=duration(0, 3600))
    idempotency_ttl_seconds: int = setting(60, "Seconds for which an Idempotency-Key is remembered", parse=whole(1, 86_400), alias="IDEMPOTENCY_TTL_SECONDS")

    egress_allow: tuple[Network, ...] = setting((), "Private networks that fetches and renders may reach", parse=list_of(address_block))
    egress_ports: tuple[int, ...] | Literal["*"] = setting((80, 443, 8080, 8443), "Ports that fetches and renders may reach; * for all", parse=or_all(list_of(whole(1, 65535))))
    upstream_proxies: tuple[Upstream, ...] = setting((), "Proxies of your own that fetches and renders go through, as http:// or socks5:// URLs; behind ? options choose for whom: host=, tenant=; resolve=proxy tells the proxy names, not judged addresses", parse=list_of(upstream))
    dns_servers: tuple[str, ...] = setting((), "Name servers, as address or address:port; empty uses the system's", parse=list_of(matching(r"[0-9a-fA-F.:\[\]]+", "addresses of name servers, separated by commas")))
    user_agent: str = setting("Gossamer/{version} (+{public_url})", "User-Agent that Gossamer sends to sites; include a contact address. The default contains the public URL unless it is private", parse=matching(r"[\x20-\x7e]{1,200}", "at most 200 ASCII characters"), derive=_user_agent)
    reading_processes: int = setting(2, "Processes that parse large pages and PDFs, so that none of them stalls the server", parse=whole(1, 64))
    reading_megabytes: int = setting(512, "Memory for each of these processes; a page that needs more fails", parse=whole(128, 1_000_000))
    ocr: bool = setting(True, "Recognise the text of scanned PDFs, if tesseract is installed", parse=switch)
    body_megabytes: int = setting(256, "Memory for large pages that are being fetched or wait to be parsed, in each process; a page that finds no room in time gets 503", parse=whole(32, 1_000_000))
    chromium: str = setting("", "Path of the Chromium to use; empty searches for one")
    browser_places: int = setting(4, "Pages rendered at the same time; use about two for each core", parse=whole(1, 64))
    browser_queue: int = setting(100, "Pages that may wait to be rendered; more get 503", parse=whole(0, 100_000))
    browser_visits: int = setting(200, "Pages after which a browser is replaced by a fresh one", parse=whole(1, 1_000_000))
    browser_megabytes: int = setting(1_500, "Memory above which a browser is replaced by a fresh one", parse=whole(100, 1_000_000))
    fence: Literal["require", "prefer"] = setting("prefer", "If a layer around Chromium is not available (network namespace, bubblewrap, its sandbox): require refuses to start, prefer starts with a warning", parse=choice("require", "prefer"))
    browser_url: str = setting("", "DevTools address of a Chromium elsewhere; it is used only if our proxy is its only way out", parse=matching(r"(?:wss?|https?)://\S+", "an address that begins with ws:// or http://"))
    browser_proxy_url: str = setting("", "Address at which that Chromium reaches our proxy", parse=matching(r"http://\S+", "an address that begins with http://"))

    bootstrap_key: str = setting("", "Admin API key that the first start registers instead of generating one", secret=True, parse=matching(r"[!-~]{8,255}", "8 to 255 visible ASCII characters"))
    oidc_issuer: str = setting("", "OpenID Connect provider where people can sign in; empty turns it off", parse=link)
    oidc_client_id: str = setting("", "Name of this Gossamer at the provider", parse=matching(r"[\x21-\x7e]{1,255}", "at most 255 visible ASCII characters"))
    oidc_client_secret: str = setting("", "Secret that the provider gave for it", secret=True, parse=matching(r"[\x21-\x7e]{1,1000}", "visible ASCII characters"))
    oidc_name: str = setting("single sign-on", "Name of the provider on the sign-in page", parse=matching(r"[^\x00-\x1f]{1,60}", "at most 60 characters"))
    oidc_domains: tuple[str, ...] = setting((), "Email domains whose people may sign in there without an invitation, as users", parse=list_of(matching(r"[a-z0-9.-]+", "domains in lower case, separated by commas")))
    serve_worker: str = setting("auto", "Whether serve also runs jobs: yes, no, or auto: only if the database is SQLite", parse=choice("auto", "yes", "no"))
    worker_id: str = setting("", "Name of this worker in jobs and logs; empty combines host and process", parse=matching(r"[\w.:-]{1,128}", "at most 128 letters, digits and . : - _"), alias="WORKER_ID")
    site_rules: str = setting("", "Path of a TOML or JSON file with rules for sites; see docs/sites.md")
    upgrade_url: str = setting("", "Page about higher tiers, shown to callers who reach their limit", parse=link)

    limit_anonymous_post: Rate = setting(Rate(60, 3600), "POST requests from a network address without a key", parse=rate, alias="RATE_LIMIT_PER_HOUR", alias_parse=per_hour)
    limit_anonymous_read: Rate = setting(Rate(10, 60), "Other requests from a network address without a key", parse=rate)
    limit_user: Rate = setting(Rate(100, 60), "Requests with a user's key that are neither answered from a cache nor control calls", parse=rate)
    limit_admin: Rate = setting(Rate(500, 60), "The same with an admin's key", parse=rate)
    limit_hits_free: Rate = setting(Rate(600, 60), "Answers from a cache for a key of the free tier", parse=rate)
    limit_hits_pro: Rate = setting(Rate(6_000, 60), "Answers from a cache for a key of the pro tier", parse=rate)
    limit_hits_enterprise: Rate = setting(Rate(60_000, 60), "Answers from a cache for a key of the enterprise tier", parse=rate)
    limit_control_free: Rate = setting(Rate(1_200, 60), "Control calls (jobs, status, usage, stored results) with a key of the free tier", parse=rate)
    limit_control_pro: Rate = setting(Rate(6_000, 60), "Control calls with a key of the pro tier", parse=rate)
    limit_control_enterprise: Rate = setting(Rate(30_000, 60), "Control calls with a key of the enterprise tier", parse=rate)
    limit_sign_in: Rate = setting(Rate(30, 300), "Attempts to sign in from a network address", parse=rate)
    limit_sign_in_account: Rate = setting(Rate(10, 900), "Attempts to sign in to an account that fail", parse=rate)
    limit_seed_injection: Rate = setting(Rate(10, 60), "Requests that add URLs to a crawl's frontier", parse=rate)
    limit_site_hook: Rate = setting(Rate(120, 60), "Messages to the incoming webhook of a site, by site and by address", parse=rate)
    limit_wallet: Rate = setting(Rate(100, 60), "Paid requests of a wallet", parse=rate)
    limit_unpaid: Rate = setting(Rate(50, 60), "Quotes (402) to a network address that are not paid", parse=rate)
    limit_renders_free: Rate = setting(Rate(100, 86_400), "Renders of a tenant of the free tier", parse=rate)
    limit_renders_pro: Rate = setting(Rate(1_000, 86_400), "Renders of a tenant of the pro tier", parse=rate)
    limit_renders_enterprise: Rate = setting(Rate(100_000, 86_400), "Renders of a tenant of the enterprise tier", parse=rate)
    quota_crawls: PerTier = setting(PerTier(2, 20, 200), "Crawls of a tenant that run or are paused, for callers of the tiers free, pro and enterprise; admins have no quotas", parse=per_tier)
    quota_crawl_pages: PerTier = setting(PerTier(10_000, 1_000_000, None), "Pages that one crawl may store, by tier", parse=per_tier)
    quota_pages: PerTier = setting(PerTier(10_000, 500_000, None), "Pages that a tenant's crawls store in a day (UTC), by tier; then they are paused until the next", parse=per_tier)
    quota_bytes: PerTier = setting(PerTier(1_000_000_000, 100_000_000_000, None), "Bytes of crawled and cached pages that a tenant keeps, by tier; beyond, its crawls are paused", parse=per_tier)
    quota_jobs: PerTier = setting(PerTier(100, 1_000, 10_000), "Jobs of a tenant other than renders that are queued or running, by tier", parse=per_tier)
    quota_webhooks: PerTier = setting(PerTier(5, 50, 500), "Webhooks that a tenant registers, by tier", parse=per_tier)
    quota_batches: PerTier = setting(PerTier(5, 100, 1_000), "Batches among these jobs, by tier", parse=per_tier)
    quota_monitors: PerTier = setting(PerTier(5, 100, 1_000), "Monitors of a tenant, by tier", parse=per_tier)
    quota_schedules: PerTier = setting(PerTier(5, 100, 1_000), "Schedules of a tenant, by tier", parse=per_tier)
    quota_sites: PerTier = setting(PerTier(3, 50, 1_000), "Sites of a tenant, by tier", parse=per_tier)
    schedule_seconds: int = setting(60, "Seconds between two runs of a schedule, at least", parse=whole(1, 86_400))
    quota_memory_entries: PerTier = setting(PerTier(10_000, 200_000, None), "Entries that a tenant's memory has, by tier", parse=per_tier)
    quota_memory_bytes: PerTier = setting(PerTier(50_000_000, 2_000_000_000, None), "Bytes of values in a tenant's memory, earlier versions included, by tier", parse=per_tier)
    memory_wallet_entries: int = setting(1_000, "Entries that the memory of a wallet has at most", parse=whole(1, 1_000_000))
    memory_wallet_bytes: int = setting(10_000_000, "Bytes of values in it at most, earlier versions included", parse=whole(1_000, 1_000_000_000))
    memory_versions: int = setting(10, "Earlier versions that are kept of an entry of memory", parse=whole(0, 100))
    backoff_faults: int = setting(10, "Refusals of the same kind in a row (400, 401, 403, 422) that a caller may get before each causes a growing pause of such requests; 0 never pauses", parse=whole(0, 1_000_000))
    backoff_misses: int = setting(5, "Failures of one host in a row (502) that a caller may get before each causes a growing pause of that host; 0 never pauses", parse=whole(0, 1_000_000))

    search_providers: tuple[str, ...] = setting(("index",), "Providers of /search, in this order: index (pages read here), searxng, brave", parse=list_of(choice("index", "searxng", "brave")))
    searxng_url: str = setting("", "A SearXNG instance with the JSON format enabled", parse=base)
    brave_api_key: str = setting("", "Key for Brave's search API", secret=True, alias="BRAVE_API_KEY")
    brave_base_url: str = setting("https://api.search.brave.com", "Address of Brave's search API", parse=base)
    search_index_pages: int = setting(1_000_000, "Pages that a tenant's search index keeps; new pages replace the oldest", parse=whole(0, 1_000_000_000))

    crawl_processes: int = setting(1, "Processes that serve starts while there are crawls; 0 leaves crawls to gossamer worker", parse=whole(0, 64))
    batch_pages: int = setting(8, "Pages of a batch that are read at the same time; of one host never more than two", parse=whole(1, 64))
    crawl_hosts: int = setting(200, "Hosts that a process crawls at the same time", parse=whole(1, 10_000))
    crawl_delay: float = setting(1.0, "Seconds between two requests to a host, unless the crawl or its robots.txt says otherwise", parse=duration(0, 3600))
    crawl_longest_delay: float = setting(300.0, "Longest Crawl-delay in robots.txt that is honoured, in seconds; a longer one counts as this", parse=duration(0, 86_400))
    default_crawl_pages: int = setting(10_000, "Pages that a tenant's default crawl stores, for URLs that are added to no other; then another one begins", parse=whole(1, 100_000_000))
    import_bytes: int = setting(1_000_000_000, "Largest WARC or WACZ file that can be imported, in bytes; it is kept among the blobs, and then in the folder for temporary files, until it is read", parse=whole(1_000, 100_000_000_000))
    crawl_address_connections: int = setting(8, "Concurrent requests to one address, over all its hosts and all crawling processes; networks in egress_allow have no limit", parse=whole(1, 10_000))

    keep_completed_urls: Lifetime = setting(Lifetime(7 * DAY), "How long after the end of its crawl a URL that was fetched is kept; the URLs of running and paused crawls always are. forever keeps them", parse=lifetime())
    keep_failed_urls: Lifetime = setting(Lifetime(30 * DAY), "The same for URLs that failed or that robots.txt forbids", parse=lifetime())
    keep_bodies: Lifetime = setting(Lifetime(30 * DAY), "How long the content of crawled pages is kept", parse=lifetime())
    keep_pages: Lifetime = setting(Lifetime(90 * DAY), "How long crawled pages themselves are kept: address, title, status and words for search. Then they are archived", parse=lifetime())
    archive: bool = setting(True, "Archive crawled pages that are not kept any more, with the content that is still kept; false deletes them", parse=switch)
    keep_archives: Lifetime = setting(Lifetime(0), "How long archives are kept", parse=lifetime())
    keep_minutes: Lifetime = setting(Lifetime(7 * DAY), "How long crawl statistics are kept by the minute; after that they are kept by day", parse=lifetime(7 * DAY))
    keep_audits: Lifetime = setting(Lifetime(90 * DAY), "How long audits are kept, with the crawls of sites", parse=lifetime())
    keep_jobs: Lifetime = setting(Lifetime(30 * DAY), "How long jobs are kept after their end, with their events and the results of batches", parse=lifetime())
    keep_schedule_runs: Lifetime = setting(Lifetime(90 * DAY), "How long the history of a schedule is kept; of each, at most the last 200 runs", parse=lifetime())
    keep_deliveries: Lifetime = setting(Lifetime(30 * DAY), "How long the log of webhooks is kept: what was sent to whom, and what became of it", parse=lifetime(DAY))
    keep_changes: Lifetime = setting(Lifetime(365 * DAY), "How long changes that monitors found are kept, with the pages before and after, and their checks; of each monitor, at most the last 200", parse=lifetime())
    keep_site_visits: Lifetime = setting(Lifetime(90 * DAY), "How long the visits of robots to a site are kept, by the hour", parse=lifetime())
    keep_robots: Lifetime = setting(Lifetime(30 * DAY), "How long the robots.txt of a host is kept that is not crawled any more", parse=lifetime())

    network: str = setting("base-sepolia", "Chain of payments: base (real money) or base-sepolia (test)", parse=choice("base", "base-sepolia"), alias="NETWORK")
    wallet_address: str = setting("", "EVM wallet that receives payments; payments are on when wallet_svm is set too", parse=matching("0x[0-9a-fA-F]{40}", "0x and 40 hexadecimal digits"), alias="WALLET_ADDRESS")
    wallet_svm: str = setting("", "Solana wallet that receives payments", parse=matching("[1-9A-HJ-NP-Za-km-z]{32,44}", "a Solana address (32 to 44 base58 characters)"))
    cdp_api_key_id: str = setting("", "Id of a CDP API key; with it, Coinbase's facilitator settles payments on Base", parse=matching(r"[!-~]{1,255}", "the id of a key, in visible ASCII"), alias="CDP_API_KEY_ID")
    cdp_api_key_secret: str = setting("", "Secret of that key: Ed25519 in base64, or EC in PEM", secret=True, alias="CDP_API_KEY_SECRET")
    cdp_facilitator_url: str = setting(TEST_FACILITATOR, f"Facilitator for Base, to which that key belongs; with a key the default is {CDP_FACILITATOR}", parse=base, alias="CDP_FACILITATOR_URL", derive=_cdp_facilitator_url)
    payai_facilitator_url: str = setting("https://facilitator.payai.network", "Facilitator for Solana and Polygon", parse=base, alias="PAYAI_FACILITATOR_URL")
    base_rpc_url: str = setting("", "Node of the chain in network, to look up payments; empty trusts the facilitators", parse=link, secret=True)
    polygon_rpc_url: str = setting("", "The same for Polygon", parse=link, secret=True)
    solana_rpc_url: str = setting("", "The same for Solana, or its devnet if network is a test network", parse=link, secret=True)
    facilitator_verify_seconds: float = setting(5.0, "Seconds for a facilitator to verify a payment", parse=duration(0.1, 60))
    facilitator_settle_seconds: float = setting(20.0, "Seconds for a facilitator to settle a payment", parse=duration(0.1, 120))
    pay_polygon: bool = setting(False, "Accept payments on Polygon too; only with network=base, because x402 clients do not pay on its test network", parse=switch)
    price_fetch_basic: Money = setting(Money(5_000), "Price of a page without a browser", parse=money)
    price_fetch_pro: Money = setting(Money(15_000), "Price of a page with a browser", parse=money)
    price_screenshot: Money = setting(Money(20_000), "Price of a picture or PDF of a page", parse=money)
    price_search: Money = setting(Money(5_000), "Price of a search", parse=money)
    price_extract: Money = setting(Money(20_000), "Price of an extraction", parse=money)
    price_map: Money = setting(Money(10_000), "Price of a map of a site", parse=money)
    price_render: Money = setting(Money(15_000), "Price of a rendered page", parse=money)
    price_crawl: Money = setting(Money(5_000), "Price of each page that a crawl may store, without a browser", parse=money)
    price_crawl_rendered: Money = setting(Money(15_000), "The same for a crawl that may use a browser", parse=money)
    price_audit: Money = setting(Money(10_000), "Price of each page that an audit may look at", parse=money)
    price_memory: Money = setting(Money(1_000), "Price of a call of /memory", parse=money)
    price_memory_page: Money = setting(Money(6_000), "Price of remembering a page by its address", parse=money)
    pay_max_pages: int = setting(1_000, "Pages that a wallet may buy in one batch, crawl or audit", parse=whole(1, 1_000_000))
    cache_discount: float = setting(0.7, "Discount on these prices for answers from the cache, as a fraction", parse=share)
    quote_seconds: int = setting(300, "Seconds for which a quoted price is honoured", parse=whole(60, 3_600))
    openai_model: str = setting("", "Name of a language model behind an API like OpenAI's, for extraction and summaries; empty turns it off", parse=matching(r"[\w.:@/-]{1,200}", "the name of a model"))
    openai_base_url: str = setting("https://api.openai.com/v1", "Address of that API, such as http://localhost:11434/v1 for Ollama", parse=base)
    openai_api_key: str = setting("", "Key for that API; a server of your own may need none", secret=True, parse=matching(r"[!-~]{1,1000}", "a key, in visible ASCII"))
    anthropic_api_key: str = setting("", "Key for a language model of Anthropic, for the same; used if openai_model is empty", secret=True, alias="ANTHROPIC_API_KEY")
    anthropic_base_url: str = setting("https://api.anthropic.com", "Address of that model's API", parse=base, alias="ANTHROPIC_BASE_URL")
    anthropic_model: str = setting("claude-haiku-5-5", "Name of that model", parse=matching(r"[\w.:@/-]{1,200}", "the name of a model"))
    embeddings_model: str = setting("", "Name of an embedding model behind an API like OpenAI's, or local: and the folder or the package of one that runs here; lets /search find pages by meaning; empty turns it off", parse=matching(r"[\w.:@/-]{1,200}", "the name of a model"))
    embeddings_base_url: str = setting("https://api.openai.com/v1", "Address of that API, such as http://localhost:11434/v1 for Ollama", parse=base)
    embeddings_api_key: str = setting("", "Key for that API; a server of your own may need none", secret=True, parse=matching(r"[!-~]{1,1000}", "a key, in visible ASCII"))
    embeddings_dimensions: int = setting(0, "Dimensions to ask that model for, if it lets you choose; 0 takes what it gives", parse=whole(0, 4_096))
    embeddings_threads: int = setting(1, "Threads that a local embedding model may use", parse=whole(1, 64))
    embeddings_similarity: float = setting(0.3, "Similarity to the question, from 0 to 1, from which on a page counts as found; models differ in what is much", parse=share)
    model_price_input: Money = setting(Money(0), "What a million tokens that the language model reads cost you; answers tell costs if this or the next is set", parse=money_or_none)
    model_price_output: Money = setting(Money(0), "What a million tokens that it writes cost you", parse=money_or_none)
    # fmt: on

    sources: Mapping[str, str] = field(compare=False)  # setting → the source of its value

    @classmethod
    def load(
        cls,
        environ: Mapping[str, str],
        dotenv_path: Path | None = None,
        flags: Mapping[str, object] | None = None,
    ) -> Self:
        """`flags` are keyed by field name; a value that is not text is rendered first, and None means not given."""
        variables = _variables(environ, _read_dotenv(dotenv_path))
        given = {name: render(value) for name, value in (flags or {}).items() if value is not None}
        _refuse_unknown([*variables, *map(variable, given)])
        known: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for name, line in declarations().items():
            found = _find(name, line, given, variables)
            if found:
                known[name], sources[name] = found.value, found.place
            else:
                known[name] = line.derive(known, environ) if line.derive else line.default
                sources[name] = "default"
        return cls(**known, sources=sources)

    def describe(self) -> list[ShownSetting]:
        return [
            ShownSetting(name, _mask(render(getattr(self, name)), line), self.sources[name], line.about)
            for name, line in declarations().items()
        ]

    @property
    def names_contact(self) -> bool:
        """Whether a visited site finds a contact address in the User-Agent."""
        return "://" in self.user_agent or "@" in self.user_agent

    @property
    def is_hot_shared(self) -> bool:
        """Whether hot data is where other processes share it."""
        return self.redis_url not in ("", "memory://")

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value, _, _ in self.describe())})"


def declarations() -> dict[str, Setting]:
    return {line.name: line.metadata["setting"] for line in fields(Settings) if "setting" in line.metadata}


def variable(name: str) -> str:
    return PREFIX + name.upper()


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def render(value: object) -> str:
    """A value as the text that parses back into it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(render(item) for item in value)
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _mask(text: str, line: Setting) -> str:
    """Mask secrets, and in addresses (even malformed ones) the credentials and secret parameters."""
    if line.secret:
        return MASK if text else ""
    text = re.sub(r"://[^/?#]*:.*@|://[^/?#]*@", f"://{MASK}@", text, flags=re.DOTALL)
    return re.sub(r"(?i)([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*", rf"\1{MASK}", text)


class _Text(NamedTuple):
    text: str
    where: str  # "in the environment"


class _Found(NamedTuple):
    value: Any
    place: str  # "GOSSAMER_PORT in the environment"
    shown: str  # "GOSSAMER_PORT='8080' in the environment", masked


def _variables(environ: Mapping[str, str], dotenv: Mapping[str, _Text]) -> dict[str, _Text]:
    """All variables that are set, by name; the environment overrides the file."""
    found = {**dotenv, **{name: _Text(text, "in the environment") for name, text in environ.items() if text}}
    return {name: text for name, text in found.items() if text.text and not _foreign(name, text.text)}


# Not settings: which server the command line asks, switches of the test suite and the benchmarks, and variables that Kubernetes injects for a
# Service whose name begins with "gossamer" (GOSSAMER_SERVICE_HOST, GOSSAMER_PORT_8080_TCP, GOSSAMER_PORT=tcp://…).
_FOREIGN: Final = re.compile(
    r"GOSSAMER_(SERVER|KEY)$|GOSSAMER_(TEST|BENCH)_|\w+_(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP))(_|$)"
)


def _foreign(name: str, text: str) -> bool:
    service_link = name.endswith("_PORT") and text.startswith(("tcp://", "udp://"))
    return service_link or _FOREIGN.match(name) is not None


def _refuse_unknown(names: Iterable[str]) -> None:
    known = [variable(name) for name in declarations()]
    for name in names:
        if name.startswith(PREFIX) and name not in known:
            near = closest(name, known)
            hint = f"did you mean {near}?" if near else "`gossamer config` lists the settings"
            raise SettingError(f"{name} is not a setting; {hint}")


def _find(
    name: str, line: Setting, given: Mapping[str, str], variables: Mapping[str, _Text]
) -> _Found | None:
    if given.get(name):
        return _parse(name, line, flag(name), _Text(given[name], "on the command line"))
    own, alias = variables.get(variable(name)), variables.get(line.alias)
    found = own and _parse(name, line, variable(name), own)
    other = alias and _parse(name, line, line.alias, alias)
    if found and other and found.value != other.value:
        raise SettingError(f"{name}: {found.shown} and {other.shown} disagree; set only one of them")
    return found or other


def _parse(name: str, line: Setting, called: str, found: _Text) -> _Found:
    value = _mask(found.text, line)
    shown = f"{called}={value if len(value) <= 100 else value[:100] + '…'!r} {found.where}"
    parse = line.alias_parse if called == line.alias else line.parse
    try:
        return _Found(parse(found.text), f"{called} {found.where}", shown)
    except Expected as wrong:
        raise SettingError(f"{name}: {shown} is not valid: {wrong}") from None


_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
_QUOTED: Final = re.compile(r"""\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")


def _read_dotenv(path: Path | None) -> dict[str, _Text]:
    """KEY=VALUE lines, `export ` before them, quotes around values and comments; a missing file is empty."""
    try:
        lines = path.read_text("utf-8-sig").splitlines() if path and path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} cannot be read: {error}") from None
    found = {}
    for number, text in enumerate(lines, 1):
        if text.strip() and not text.lstrip().startswith("#"):
            assignment = _ASSIGNMENT.fullmatch(text)
            if not assignment:
                raise SettingError(f"{path} line {number}: expected KEY=VALUE")
            where = f"in {path} line {number}"
            found[assignment[1]] = _Text(_dotenv_value(assignment[2], where), where)
    return found


def _dotenv_value(raw: str, where: str) -> str:
    if quoted := _QUOTED.fullmatch(raw):
        escaped = {"n": "\n", "t": "\t", "r": "\r"}
        double = re.sub(r"\\(.)", lambda match: escaped.get(match[1], match[1]), quoted[2] or "")
        return quoted[1] or double
    if raw.strip().startswith(("'", '"')):
        raise SettingError(f"{where[3:]}: the quote is not closed, or something follows it")
    return re.split(r"\s#", raw)[0].strip()


def markdown_table() -> str:
    """The table of `docs/settings.md`."""
    rows = ["| Variable | Default | Meaning |", "|---|---|---|"]
    for name, line in declarations().items():
        default = f"`{render(line.default)}`" if render(line.default) else ""
        notes = " (secret)" * line.secret + f" (also `{line.alias}`)" * bool(line.alias)
        rows.append(f"| `{variable(name)}` | {default} | {line.about}{notes} |")
    return "\n".join(rows) + "\n"
