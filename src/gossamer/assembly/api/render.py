"""Rendered pages, and their cache."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.render.cached_pages import CachedPagesEndpoints
from gossamer.doors.http.api.render.page_cache import PageCacheEndpoints
from gossamer.doors.http.api.render.render import RenderEndpoints
from gossamer.flows.render.clear import CacheClearer

if TYPE_CHECKING:
    from gossamer.app import Service


class RenderApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        upgrade_url = service.settings.upgrade_url
        clearer = CacheClearer(service.page_cache, service.jobs, service.index, service.render_failures)
        self.render = RenderEndpoints(
            service.render_service,
            service.jobs,
            service.render_pace,
            service.site_directory,
            service.bot_reports,
            upgrade_url,
        )
        self.page_cache = PageCacheEndpoints(service.render_service, clearer, service.warmer)
        self.cached_pages = CachedPagesEndpoints(service.page_cache.listing)
