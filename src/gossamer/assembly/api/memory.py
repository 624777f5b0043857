"""What callers remember."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.memory.entries import MemoryEntriesEndpoints
from gossamer.doors.http.api.memory.memory import MemoryEndpoints

if TYPE_CHECKING:
    from gossamer.app import Service


class MemoryApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        upgrade_url = service.settings.upgrade_url
        self.memory = MemoryEndpoints(service.memory, service.memory_search, service.deleter)
        self.memory_entries = MemoryEntriesEndpoints(service.memory, service.memory_pages, upgrade_url)
