"""What a schedule starts, as the API takes it for a single run, with its `kind`."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Meta

from gossamer.web.audit.new_audit import NewAudit
from gossamer.web.crawl.spec import NewCrawl
from gossamer.web.pages.batch_request import BatchRequest
from gossamer.web.url.sent_headers import HIDDEN

_SECRET_IN_ACTIONS: Final = ("text", "script")


class ScheduledCrawl(NewCrawl, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="crawl"):
    """A crawl, as `POST /api/crawls` takes it."""


class ScheduledBatch(
    BatchRequest, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="batch"
):
    """A batch, as `POST /batch/fetch` takes it."""


class ScheduledAudit(NewAudit, frozen=True, omit_defaults=True, tag_field="kind", tag="audit"):
    """An audit of a page or a site, as `POST /audits` takes it."""


ScheduledTask = Annotated[
    ScheduledCrawl | ScheduledBatch | ScheduledAudit,
    Meta(description="What to start: `kind`, and the body of its endpoint."),
]


def hide_secrets(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task as it is shown and stored in the clear: values of headers and cookies, and what is typed, may
    be secret."""
    shown = dict(task)
    if "headers" in shown:
        shown["headers"] = dict.fromkeys(shown["headers"], HIDDEN)
    if "rules" in shown:
        shown["rules"] = [
            {**rule, "headers": dict.fromkeys(rule["headers"], HIDDEN)} for rule in shown["rules"]
        ]
    if webhook := shown.get("webhook"):
        shown["webhook"] = {**webhook, "headers": dict.fromkeys(webhook["headers"], HIDDEN)}
    if "cookies" in shown:
        shown["cookies"] = [{**cookie, "value": HIDDEN} for cookie in shown["cookies"]]
    if "actions" in shown:
        shown["actions"] = [
            {name: HIDDEN if name in _SECRET_IN_ACTIONS else value for name, value in action.items()}
            for action in shown["actions"]
        ]
    return shown


def holds_hidden(task: Mapping[str, Any]) -> bool:
    """Whether a secret is the word that stands for one: somebody sends back what was shown."""
    webhook = task.get("webhook") or {}
    secrets = [*task.get("headers", {}).values(), *webhook.get("headers", {}).values()]
    secrets += [text for rule in task.get("rules", ()) for text in rule["headers"].values()]
    secrets += [cookie["value"] for cookie in task.get("cookies", ())]
    secrets += [action.get(name) for action in task.get("actions", ()) for name in _SECRET_IN_ACTIONS]
    return HIDDEN in secrets
