"""Single pages: fetched, extracted, searched and mapped."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.pages.extract import ExtractEndpoints
from gossamer.doors.http.api.pages.fetch import FetchEndpoints
from gossamer.doors.http.api.pages.map import MapEndpoints
from gossamer.doors.http.api.pages.search import SearchEndpoints

if TYPE_CHECKING:
    from gossamer.app import Service


class PageApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        upgrade_url = service.settings.upgrade_url
        self.fetch = FetchEndpoints(service.reader, upgrade_url)
        self.extract = ExtractEndpoints(service.extractor, upgrade_url)
        self.search = SearchEndpoints(service.finder)
        self.map = MapEndpoints(service.mapper)
