"""The settings of a site as the fields of a form."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gossamer.doors.http.dashboard.core.form import Form
from gossamer.doors.http.dashboard.work.struct_form import StructField, fields_of, read_struct
from gossamer.problems import validation_error
from gossamer.web.schedules.timing import Timing
from gossamer.web.sites.site_settings import SiteSettings, SiteWarmUp

IS_WARM: Final = "is_warm"  # the checkbox of the warm-up
NONE: Final = "none"  # in a list that means everything when it is empty


def rendering_fields() -> list[StructField]:
    return list(fields_of(SiteSettings).values())


def warm_up_fields() -> list[StructField]:
    return [*fields_of(Timing).values(), *fields_of(SiteWarmUp).values()]


def read_settings(form: Form) -> SiteSettings:
    """Raises `Problem` that names the field with its label."""
    settings = read_struct(SiteSettings, form)
    if settings.headers == (NONE,):
        settings = msgspec.structs.replace(settings, headers=())
    if not form.is_on(IS_WARM):
        return settings
    if not form["cron"] and not form["every"]:
        raise validation_error(
            "The warm-up has no timing.", hint="Fill in Cron or Every, or untick the warm-up."
        )
    given = {
        field.json_name: typed
        for field in fields_of(SiteWarmUp).values()
        if (typed := field.typed(form)) is not msgspec.NODEFAULT
    }
    timing = read_struct(Timing, form)
    try:
        warm_up = msgspec.convert({**given, "timing": timing}, SiteWarmUp, strict=False)
    except msgspec.ValidationError as error:
        raise validation_error(f"{error}.", hint="Correct the field and send the form again.") from None
    return msgspec.structs.replace(settings, warm_up=warm_up)


def typed_settings(settings: SiteSettings) -> dict[str, str]:
    """The fields as they would be typed."""
    typed = _typed(settings)
    if settings.headers == ():
        typed["headers"] = NONE
    warm_up = settings.warm_up
    if warm_up is not None:
        typed |= {IS_WARM: "on", **_typed(warm_up), **_typed(warm_up.timing)}
    return typed


def _typed(value: msgspec.Struct) -> dict[str, str]:
    given: Mapping[str, Any] = msgspec.structs.asdict(value)
    return {name: _text(given[name]) for name in fields_of(type(value))}


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "\n".join(map(str, value))
    if isinstance(value, bool):
        return "on" if value else ""
    return "" if value is None else str(value)
