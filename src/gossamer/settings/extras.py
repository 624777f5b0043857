"""Checks at the start that the optional packages which the settings need are installed."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Final, NamedTuple

from gossamer.settings.settings import SettingError, Settings


class Extra(NamedTuple):
    name: str  # as in gossamer[name]
    module: str
    setting: str  # that needs it
    is_needed: Callable[[Settings], bool]


EXTRAS: Final = (
    Extra("postgres", "asyncpg", "database_url", lambda known: known.database_url.startswith("postgres")),
    Extra("redis", "hiredis", "redis_url", lambda known: known.redis_url.startswith("redis")),
    Extra("s3", "obstore", "blobs_url", lambda known: known.blobs_url.startswith("s3:")),
    Extra(
        "llm",
        "anthropic",
        "anthropic_api_key",
        lambda known: bool(known.anthropic_api_key and not known.openai_model),
    ),
    Extra(
        "embeddings",
        "numpy",
        "embeddings_model",
        lambda known: bool(known.embeddings_model and known.database_url.startswith("sqlite")),
    ),
    Extra(
        "local-embeddings",
        "tokenizers",
        "embeddings_model",
        lambda known: known.embeddings_model.startswith("local:"),
    ),
    Extra("oidc", "authlib", "oidc_issuer", lambda known: bool(known.oidc_issuer)),
    Extra("proxies", "python_socks", "upstream_proxies", lambda known: bool(known.upstream_proxies)),
    Extra("otel", "opentelemetry", "otel_endpoint", lambda known: bool(known.otel_endpoint)),
    Extra("sentry", "sentry_sdk", "sentry_dsn", lambda known: bool(known.sentry_dsn)),
)


def check_extras(settings: Settings) -> None:
    for extra in EXTRAS:
        if extra.is_needed(settings) and not _is_installed(extra.module):
            raise SettingError(
                f"{extra.setting} needs the package {extra.module}, which is not installed: "
                f"pip install 'gossamer[{extra.name}]', or unset it"
            )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False
