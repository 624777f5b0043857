"""Monitors and what they found."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.monitors.monitor_changes import MonitorChangesEndpoints
from gossamer.doors.http.api.monitors.monitors import MonitorsEndpoints
from gossamer.flows.monitors.trying import RuleTrier

if TYPE_CHECKING:
    from gossamer.app import Service


class MonitorApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        self.monitors = MonitorsEndpoints(service.monitors, RuleTrier(service.monitors.sources.looker))
        self.monitor_changes = MonitorChangesEndpoints(service.monitors)
