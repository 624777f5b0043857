"""What an audit is asked to do."""

from typing import Annotated

from msgspec import Meta, Struct

from gossamer.web.audit.report import AuditOptions


class NewAudit(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which page or site to audit."""

    url: Annotated[str, Meta(description="The address of the page, or of the start page of the site.")]
    options: AuditOptions = AuditOptions()
