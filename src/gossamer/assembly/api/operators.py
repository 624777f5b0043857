"""What goes on here, and for whom."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.admin.activity import ActivityEndpoints
from gossamer.doors.http.api.admin.alerts import AlertsEndpoints
from gossamer.doors.http.api.admin.jobs import JobsEndpoints
from gossamer.doors.http.api.admin.overview import OverviewEndpoints
from gossamer.doors.http.api.admin.settings import SettingsEndpoints
from gossamer.doors.http.api.admin.tenants import TenantsEndpoints
from gossamer.doors.http.api.admin.workers import WorkersEndpoints
from gossamer.doors.http.api.crawl.purge import PurgeEndpoints
from gossamer.doors.http.api.upkeep.archives import ArchivesEndpoints
from gossamer.doors.http.api.upkeep.replay import ReplayEndpoints
from gossamer.doors.http.api.upkeep.storage import StorageEndpoints
from gossamer.flows.tenants.tenant_limits import TenantLimits

if TYPE_CHECKING:
    from gossamer.app import Service


class OperatorApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        self.activity = ActivityEndpoints(service.activity_log)
        self.workers = WorkersEndpoints(service.workers)
        self.alerts = AlertsEndpoints(service.alerts)
        self.overview = OverviewEndpoints(service.overviews)
        self.jobs = JobsEndpoints(service.jobs)
        self.tenants = TenantsEndpoints(
            service.tenant_list, TenantLimits(service.limits), service.quotas, service.deleter
        )
        self.purge = PurgeEndpoints(service.removals.pages, service.deleter)
        self.archives = ArchivesEndpoints(service.archive_restorer)
        self.replay = ReplayEndpoints(service.replayer)
        self.storage = StorageEndpoints(service.database)
        self.settings = SettingsEndpoints(service.settings)
