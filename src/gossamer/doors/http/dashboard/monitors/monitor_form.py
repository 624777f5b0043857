"""The form that makes a monitor: the usual rules by a field each, all others as JSON."""

from typing import Any, Final

import msgspec

from gossamer.doors.http.dashboard.core.form import Form
from gossamer.doors.http.dashboard.work.struct_form import read_struct
from gossamer.problems import validation_error
from gossamer.web.monitors.monitor_request import NewMonitor
from gossamer.web.schedules.timing import Timing

WATCHED: Final = (("pages", "Pages"), ("search", "A search"), ("crawl", "A crawl"))
RENDERS: Final = (("never", "Never"), ("auto", "If the page is empty without one"), ("always", "Always"))


def read_monitor(form: Form) -> NewMonitor:
    """Raises `Problem` for what cannot be a monitor."""
    typed = Form({name: form[name] for name in ("name", "confirm_after", "fail_after") if form[name]})
    given = {name.replace("_a", "A"): value for name, value in typed.values.items()}
    timing = Form({name: form[name] for name in Timing.__struct_fields__})
    return Form(given).to(
        NewMonitor,
        watch=_watch(form),
        rules=_rules(form),
        timing=read_struct(Timing, timing) if form["every"] or form["cron"] else Timing(every="1d"),
        look={"render": form["render"] or "never", "wholePage": form.is_on("whole_page")},
        noise={"ignore": form.lines("ignore")},
    )


def _watch(form: Form) -> dict[str, Any]:
    lines = form.lines("addresses")
    if not lines:
        raise validation_error("Nothing is watched.", hint="Give an address, a query or the id of a crawl.")
    match form["watched"]:
        case "search":
            return {"kind": "search", "query": " ".join(lines)}
        case "crawl":
            return {"kind": "crawl", "crawlId": lines[0]}
    return {"kind": "page", "url": lines[0]} if len(lines) == 1 else {"kind": "list", "urls": lines}


def _rules(form: Form) -> list[Any]:
    rules: list[Any] = _read_json(form["rules"])
    if form.is_on("text"):
        rules.append({"kind": "text"})
    rules += [{"kind": "selector", "selector": selector} for selector in form.lines("selectors")]
    if fields := form.lines("fields"):
        rules.append({"kind": "fields", "fields": fields})
    if form["appear"] or form["disappear"]:
        words = {name: form.lines(name) for name in ("appear", "disappear")}
        rules.append({"kind": "keywords", **words})
    if form["price"]:
        limits = {"below": form["below"], "above": form["above"], "changesByPercent": form["percent"]}
        given = {name: _number(name, text) for name, text in limits.items() if text}
        rules.append({"kind": "number", "selector": form["price"], **given})
    if form.is_on("status"):
        rules.append({"kind": "status"})
    if not rules:
        raise validation_error("Nothing counts as a change.", hint="Choose one of the rules.")
    return rules


def _number(name: str, text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise validation_error(f"{text!r} is no number - at `{name}`.", hint="Write 19.90.") from None


def _read_json(text: str) -> list[Any]:
    try:
        return msgspec.json.decode(text or "[]", type=list[dict[str, Any]])
    except msgspec.DecodeError as error:
        raise validation_error(
            f"More rules: this is no JSON list: {error}.", hint='For example: [{"kind": "status"}]'
        ) from None
