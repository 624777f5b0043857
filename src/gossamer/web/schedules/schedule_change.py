"""Bodies of requests about schedules."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.schedules.schedule_task import ScheduledTask
from gossamer.web.schedules.timing import Timing

MAX_NAME_CHARS: Final = 200
MAX_PREVIEWED: Final = 50

ScheduleName = Annotated[str, Meta(max_length=MAX_NAME_CHARS, description="A note for people.")]


class ScheduleRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What to start, and when."""

    task: ScheduledTask
    timing: Timing
    name: ScheduleName = ""
    paused: Annotated[bool, Meta(description="Do not run it until it is resumed.")] = False


class ScheduleChange(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What to change; the rest stays."""

    task: ScheduledTask | UnsetType = UNSET
    timing: Annotated[
        Timing | UnsetType, Meta(description="All of it: what it leaves out gets its default.")
    ] = UNSET
    name: ScheduleName | UnsetType = UNSET

    @property
    def told(self) -> str:
        """For the log of activity."""
        return ", ".join(name for name in self.__struct_fields__ if getattr(self, name) is not UNSET)


class TimingPreviewRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A timing whose next runs to show."""

    timing: Timing
    count: Annotated[int, Meta(ge=1, le=MAX_PREVIEWED, description="How many.")] = 10
