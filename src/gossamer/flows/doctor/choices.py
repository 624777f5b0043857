"""What the operator chose, and what is left to do: addresses, secrets, workers, backups."""

from collections.abc import Collection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from gossamer.flows.doctor.diagnosis import Diagnosis, broken, improvable, ok
from gossamer.settings.settings import Settings
from gossamer.state.backup.records import last_backup
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats

CONTACT_MARKS: Final = ("http://", "https://", "@")


def examine_public_url(settings: Settings) -> Diagnosis:
    url = urlsplit(settings.public_url)
    if "public_url" not in settings.sources or settings.sources["public_url"] == "default":
        advice = "Set GOSSAMER_PUBLIC_URL to the address that people use: links and receipts name it."
        return improvable("public URL", f"it is the default, {settings.public_url}", advice)
    if url.scheme != "https" and not _is_loopback(url.hostname or ""):
        advice = "Put a proxy with TLS in front: keys and cookies are sent in the clear."
        return improvable("public URL", f"{settings.public_url} has no TLS", advice)
    return ok("public URL", settings.public_url)


def examine_contact(settings: Settings) -> Diagnosis:
    if any(mark in settings.user_agent for mark in CONTACT_MARKS):
        return ok("contact", f"sites see {settings.user_agent}")
    advice = (
        "Name a page or an address in GOSSAMER_USER_AGENT, so that sites can ask you instead of blocking you."
    )
    return improvable("contact", f"sites see {settings.user_agent}, without a contact", advice)


def examine_secrets(settings: Settings) -> list[Diagnosis]:
    """Secrets that something which is switched on would need."""
    wanted = {
        "GOSSAMER_OIDC_CLIENT_SECRET": settings.oidc_issuer and not settings.oidc_client_secret,
        "GOSSAMER_CDP_API_KEY_SECRET": settings.cdp_api_key_id and not settings.cdp_api_key_secret,
        "GOSSAMER_BASE_RPC_URL": settings.wallet_address and not settings.base_rpc_url,
        "GOSSAMER_OPENAI_API_KEY": settings.openai_model
        and settings.sources.get("openai_base_url") == "default"
        and not settings.openai_api_key,
        "GOSSAMER_EMBEDDINGS_API_KEY": settings.embeddings_model
        and not settings.embeddings_model.startswith("local:")
        and settings.sources.get("embeddings_base_url") == "default"
        and not settings.embeddings_api_key,
        "GOSSAMER_BRAVE_API_KEY": "brave" in settings.search_providers and not settings.brave_api_key,
    }
    missing = [name for name, is_missing in wanted.items() if is_missing]
    if not missing:
        return [ok("secrets", "everything that is switched on has its secrets")]
    return [
        improvable("secrets", f"{name} is not set", "Set it, or switch off what needs it.")
        for name in missing
    ]


async def examine_workers(database: Database, kinds: Collection[str], *, serves: bool) -> Diagnosis:
    """Whether somebody works on every kind of job. `serves`: a server with these settings would."""
    async with database.read() as connection:
        alive = await heartbeats.alive(connection)
    idle = sorted({*kinds, heartbeats.CRAWL} - {kind for worker in alive for kind in worker.kinds})
    if not idle:
        return ok("workers", f"{len(alive)} work on all kinds of jobs")
    finding = f"nobody works on {', '.join(idle)} now"
    if not alive and serves:
        return ok("workers", "none is running; a server works on everything itself")
    return improvable(
        "workers", finding, "Start `gossamer worker`, or a server with GOSSAMER_SERVE_WORKER=yes."
    )


async def examine_backups(database: Database, settings: Settings, now: float) -> Diagnosis:
    async with database.read() as connection:
        last = await last_backup(connection)
    if last is None:
        advice = "Set GOSSAMER_BACKUP_URL, and run `gossamer backup` every night."
        return improvable("backup", "there is none", advice)
    hours = (now - last.snapshot_at / 1000) / 3600
    finding = f"the last one is {hours:.0f} hours old, in {last.place}"
    if settings.backup_max_age and hours * 3600 > settings.backup_max_age:
        return broken("backup", finding, "Run `gossamer backup`, and see why the timer did not.")
    if not settings.backup_max_age:
        return improvable("backup", finding, "Set GOSSAMER_BACKUP_MAX_AGE to be told if it gets too old.")
    return ok("backup", finding)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
