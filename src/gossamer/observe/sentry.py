"""Sends unexpected errors to Sentry: those that end as a 500, a failed job or a restarted task."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gossamer.observe.redaction import redact_values

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

CLOSE_SECONDS: Final = 2.0


class Sentry:
    """Nothing of a request but its id is sent: no headers, no bodies, no variables, no lines of source."""

    def __init__(self, dsn: str, *, version: str, instance: str) -> None:
        from sentry_sdk import Client  # an extra

        self._client = Client(
            dsn,
            release=f"gossamer@{version}",
            server_name=instance,
            default_integrations=False,
            auto_enabling_integrations=False,
            include_local_variables=False,
            include_source_context=False,
            max_breadcrumbs=0,
            before_send=_redact,
        )

    def report(self, event: str, error: BaseException, fields: Mapping[str, Any]) -> None:
        from sentry_sdk import Scope
        from sentry_sdk.utils import event_from_exception

        found, hint = event_from_exception(error, client_options=self._client.options)
        scope = Scope(client=self._client)
        scope.set_tag("event", event)
        for name, value in fields.items():
            if isinstance(value, str | int | float):
                scope.set_tag(name, value)
        self._client.capture_event(found, hint=hint, scope=scope)

    def close(self) -> None:
        self._client.close(timeout=CLOSE_SECONDS)


def _redact(event: "Event", _hint: "Hint") -> "Event":
    redacted: Event = redact_values(event)
    return redacted
