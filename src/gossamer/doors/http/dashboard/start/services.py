"""Services and fence layers in plain words: what each is for, and what to do if it is down."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from gossamer.doors.http.api.admin.operations import ServiceHealth, Services
from gossamer.flows.upkeep.health import Status


class ServiceWords(NamedTuple):
    title: str  # begins a sentence
    about: str
    remedy: str


class ServiceRow(NamedTuple):
    """A service as the page of health shows it."""

    name: str
    words: ServiceWords
    health: ServiceHealth
    details: list[tuple[str, str]]


class LayerRow(NamedTuple):
    name: str
    about: str
    missing: str | None  # why it is not in force; None if it is
    remedy: str


_WORDS: Final[Mapping[str, ServiceWords]] = {
    "database": ServiceWords(
        "The database",
        "It keeps keys, jobs, crawls and everything else that lasts.",
        "Check that it runs and can be reached at GOSSAMER_DATABASE_URL. No request is served without it.",
    ),
    "cache": ServiceWords(
        "The hot store",
        "It counts limits and keeps what is asked for often. Without it requests are served more slowly.",
        "Check that it runs and can be reached at GOSSAMER_REDIS_URL. It is used again once it answers.",
    ),
    "blobs": ServiceWords(
        "The blob store",
        "It keeps the bodies of crawled and rendered pages.",
        "Check the folder or the bucket at GOSSAMER_BLOBS_URL, its free space and its credentials.",
    ),
    "browserRendering": ServiceWords(
        "The browser",
        "It renders pages, takes screenshots and prints PDF.",
        "Install Chromium where the workers run, or see below which layer of the fence is missing.",
    ),
    "queue": ServiceWords(
        "The queue",
        "It holds the jobs that wait for a worker.",
        "It is kept in the database: check that first.",
    ),
    "workers": ServiceWords(
        "The workers",
        "They run jobs: renders, batches, audits and crawls.",
        "Start a worker with `gossamer worker`, or look at its log if it should be running.",
    ),
    "search": ServiceWords(
        "Search",
        "It finds pages that were read here, and asks the search engines that are set up.",
        "A search engine that fails is asked again after a while. Check its key and its quota.",
    ),
    "background": ServiceWords(
        "Background tasks",
        "They clean up, keep the search index current and settle payments.",
        "A task that fails is restarted. The log says why it failed.",
    ),
    "facilitators": ServiceWords(
        "The facilitator",
        "It verifies and settles payments.",
        "Payments wait until it answers again. Check its status page and your credentials for it.",
    ),
    "chains": ServiceWords(
        "The node",
        "It tells whether a payment in doubt has arrived.",
        "Check the address of the node in the settings. Payments in doubt wait for it.",
    ),
}
_LAYERS: Final[Mapping[str, tuple[str, str]]] = {
    "proxy": ("The browser's only way out. It judges every address before it connects.", ""),
    "netns": (
        "The browser runs in an empty network namespace, whose only open port is the proxy's.",
        "Allow user and network namespaces; in a container, use a seccomp profile that allows them.",
    ),
    "bubblewrap": (
        "The browser sees programs and fonts, but none of this machine's data.",
        "Install bubblewrap (Debian: apt-get install bubblewrap).",
    ),
    "sandbox": ("Chromium's own sandbox surrounds every page.", "Allow user namespaces."),
}
_STATES: Final[Mapping[Status, str]] = {
    Status.HEALTHY: "{} works.",
    Status.DEGRADED: "{} works with something missing.",
    Status.UNHEALTHY: "{} does not answer.",
}


_SENTENCES: Final[Mapping[tuple[str, Status], str]] = {
    ("workers", Status.UNHEALTHY): "Jobs wait, and no worker runs that could do them.",
    ("background", Status.UNHEALTHY): "A background task keeps failing.",
    ("browserRendering", Status.UNHEALTHY): "There is no browser to render with.",
    ("browserRendering", Status.DEGRADED): "The browser works, but a layer of its fence is missing.",
    ("search", Status.UNHEALTHY): "A search engine does not answer.",
}


def words_of(name: str) -> ServiceWords:
    """Of a service by the name that the API gives it, such as `facilitators.cdp`."""
    group, _, member = name.partition(".")
    words = _WORDS.get(group) or ServiceWords(f"The service {group}", "", "The log says more.")
    return words._replace(title=f"{words.title} {member}") if member else words


def describe(name: str, status: Status) -> str:
    """The state of a service in a sentence."""
    own = _SENTENCES.get((name, status))
    return own or _STATES[status].format(words_of(name).title)


def summarise(statuses: Mapping[str, Status]) -> str:
    """The health of everything, in a sentence for each service that is not well."""
    unwell = [describe(name, status) for name, status in statuses.items() if status is not Status.HEALTHY]
    return " ".join(unwell) or "Everything works."


def rows(services: Services) -> list[ServiceRow]:
    found: list[ServiceRow] = []
    for name, field in zip(Services.__struct_encode_fields__, Services.__struct_fields__, strict=True):
        value = getattr(services, field)
        if value is UNSET:
            continue
        members = value if isinstance(value, dict) else None
        named = {name: value} if members is None else {f"{name}.{key}": one for key, one in members.items()}
        found += [ServiceRow(key, words_of(key), one, _details(key, one)) for key, one in named.items()]
    return found


def fence(services: Services) -> list[LayerRow] | None:
    """The layers around the browsers of this process; None if it has none."""
    browsers = services.browser_rendering
    details: Mapping[str, Any] = {} if browsers is UNSET else browsers.details or {}
    if "layers" not in details:
        return None
    missing = details.get("missingLayers", {})
    known = [*details["layers"], *missing]
    ordered = [name for name in _LAYERS if name in known] + [name for name in known if name not in _LAYERS]
    return [
        LayerRow(name, *_LAYERS.get(name, ("", ""))[:1], missing.get(name), _LAYERS.get(name, ("", ""))[1])
        for name in ordered
    ]


def _details(name: str, service: ServiceHealth) -> list[tuple[str, str]]:
    """What a service tells of itself, in words; the fence has a section of its own."""
    hidden = {"layers", "missingLayers", "fence"}
    return [
        (_DETAILS.get(key, key), _text(value))
        for key, value in (service.details or {}).items()
        if key not in hidden and value not in ([], {}, None)
    ]


_DETAILS: Final[Mapping[str, str]] = {
    "queued": "waiting",
    "running": "running",
    "oldestSeconds": "oldest waits, in seconds",
    "alive": "alive",
    "kinds": "kinds of jobs",
    "missingScripts": "scripts without a font",
    "workers": "workers with a browser",
    "index": "pages read here",
}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return msgspec.json.encode(value).decode()
