"""Sites of callers."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.sites.site_comparison import SiteComparisonEndpoints
from gossamer.doors.http.api.sites.site_hooks import SiteHookEndpoints
from gossamer.doors.http.api.sites.site_rules import SiteRulesEndpoints
from gossamer.doors.http.api.sites.sites import SitesEndpoints

if TYPE_CHECKING:
    from gossamer.app import Service


class SiteApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        public_url = service.settings.public_url
        self.sites = SitesEndpoints(service.site_keeper, service.site_warmer, service.bot_reports)
        self.site_rules = SiteRulesEndpoints(service.rule_keeper)
        self.site_hooks = SiteHookEndpoints(service.site_hooks, public_url)
        self.site_comparison = SiteComparisonEndpoints(service.site_keeper, service.site_comparer)
