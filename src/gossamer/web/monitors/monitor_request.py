"""Bodies of requests about monitors."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from gossamer.problems import validation_error
from gossamer.web.monitors.monitor_spec import LookOptions, Monitored, MonitorSpec
from gossamer.web.monitors.noise.noise_kind import ALL_NOISE, NoiseOptions
from gossamer.web.monitors.rules.change_rule import ChangeRules, TextRule
from gossamer.web.schedules.durations import seconds_of_duration
from gossamer.web.schedules.timing import Timing

MAX_NAME_CHARS: Final = 200
MAX_GIVEN_CHARS: Final = 1_000_000
MAX_SNOOZE: Final = 366 * 86_400  # seconds

MonitorName = Annotated[str, Meta(max_length=MAX_NAME_CHARS, description="A note for people.")]
DAILY: Final = Timing(every="1d")


class NewMonitor(MonitorSpec, frozen=True, kw_only=True):
    """What to watch, when to look, and what counts as a change."""

    name: MonitorName = ""
    timing: Annotated[Timing, Meta(description="When to look; once a day if it is left out.")] = DAILY
    paused: Annotated[bool, Meta(description="Look once, and then not until it is resumed.")] = False

    def spec(self) -> MonitorSpec:
        return MonitorSpec(**{name: getattr(self, name) for name in MonitorSpec.__struct_fields__})


class MonitorChange(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What to change; the rest stays."""

    name: MonitorName | UnsetType = UNSET
    timing: Annotated[
        Timing | UnsetType, Meta(description="All of it: what it leaves out gets its default.")
    ] = UNSET
    watch: Monitored | UnsetType = UNSET
    rules: ChangeRules | UnsetType = UNSET
    noise: NoiseOptions | UnsetType = UNSET
    look: Annotated[
        LookOptions | UnsetType, Meta(description="All of it, with the headers: answers do not show them.")
    ] = UNSET
    confirm_after: Annotated[int, Meta(ge=0, le=300)] | UnsetType = UNSET
    fail_after: Annotated[int, Meta(ge=1, le=100)] | UnsetType = UNSET
    paused: bool | UnsetType = UNSET
    muted: Annotated[bool | UnsetType, Meta(description="Record changes, and tell nobody.")] = UNSET

    def applied(self, spec: MonitorSpec) -> MonitorSpec:
        given = {name: getattr(self, name) for name in MonitorSpec.__struct_fields__}
        return replace(spec, **{name: value for name, value in given.items() if value is not UNSET})

    @property
    def told(self) -> str:
        """For the log of activity."""
        return ", ".join(name for name in self.__struct_fields__ if getattr(self, name) is not UNSET)


class SnoozeRequest(Struct, frozen=True, forbid_unknown_fields=True, rename={"duration": "for"}):
    """For how long nobody wants to be told."""

    duration: Annotated[str, Meta(max_length=10, description="`2h`, `3d`; `0s` ends it.")] = "1d"

    @property
    def seconds(self) -> int:
        """Raises `Problem` for what is no duration."""
        if self.duration in ("0", "0s"):
            return 0
        try:
            seconds = seconds_of_duration(self.duration)
        except ValueError as error:
            raise validation_error(
                f"{self.duration!r} is no duration - at `$.for`.", hint="Write 90s, 15m, 6h, 1d or 2w."
            ) from error
        return min(seconds, MAX_SNOOZE)


class GivenPage(Struct, frozen=True, forbid_unknown_fields=True):
    """A page to try rules on: its address, its HTML or its text."""

    url: str = ""
    html: Annotated[str, Meta(max_length=MAX_GIVEN_CHARS)] = ""
    text: Annotated[str, Meta(max_length=MAX_GIVEN_CHARS)] = ""

    def check(self) -> None:
        if sum(bool(one) for one in (self.url, self.html, self.text)) != 1:
            raise validation_error("A page needs one of `url`, `html` and `text`.")


class MonitorTrial(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Two pages, and the rules that they are compared by. Nothing is stored."""

    before: GivenPage
    after: GivenPage
    rules: ChangeRules = (TextRule(),)
    noise: NoiseOptions = ALL_NOISE
    look: LookOptions = LookOptions()
    seconds_apart: Annotated[
        int, Meta(ge=0, le=366 * 86_400, description="Between the two, for dates and countdowns.")
    ] = 86_400
