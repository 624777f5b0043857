"""Sites as the API takes and shows them."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.render.request import MAX_WARM_URLS
from gossamer.web.sites.site_settings import SiteSettings
from gossamer.web.sites.site_words import ProofFinding, ProofMethod

MAX_NAME_CHARS = 200


class SiteRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The site to register."""

    origin: Annotated[
        str, Meta(max_length=300, description="Scheme, host and port.", examples=["https://www.example.com"])
    ]
    name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] = ""
    settings: SiteSettings = SiteSettings()


class SiteChange(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What to change. Settings are replaced as a whole."""

    name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] | UnsetType = UNSET
    settings: SiteSettings | UnsetType = UNSET


class ProofRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Where to look for the proof."""

    method: Annotated[Literal["dns", "file", "meta"] | None, Meta(description="`null`: look everywhere.")] = (
        None
    )


class ProofStep(Struct, frozen=True, kw_only=True, rename="camel"):
    """One way to prove that a site is yours. One is enough."""

    method: ProofMethod
    place: Annotated[str, Meta(description="A name in DNS, or the address of a file or page.")]
    content: Annotated[str, Meta(description="What must be found there.")]


class ProofCheck(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was found in one place."""

    method: ProofMethod
    finding: ProofFinding
    detail: str = ""


class ShownSite(Struct, frozen=True, kw_only=True, rename="camel"):
    """A site of yours."""

    site_id: str
    origin: str
    name: str
    state: Annotated[
        Literal["unproven", "proven"],
        Meta(description="Only the settings of a proven site are used, and only it is kept warm."),
    ]
    proof: Annotated[ProofMethod | None, Meta(description="How it was proven.")]
    proof_steps: Annotated[list[ProofStep], Meta(description="The ways to prove it.")]
    settings: SiteSettings
    proven_at: str | None
    checked_at: Annotated[str | None, Meta(description="When its proof was last looked for.")]
    warm_up_schedule: Annotated[str | None, Meta(description="The id of the schedule that keeps it warm.")]
    created_at: str
    updated_at: str
    status_url: str


class SiteList(Struct, rename="camel"):
    """Sites of yours."""

    sites: list[ShownSite]
    next_cursor: str | None = None


class ProofAnswer(Struct, frozen=True, rename="camel"):
    """What was found, and the site after that."""

    site: ShownSite
    checks: list[ProofCheck]


class SiteRecacheRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which pages of a site to render again: one of these."""

    urls: Annotated[
        tuple[Annotated[str, Meta(max_length=2_048)], ...],
        Meta(max_length=MAX_WARM_URLS, description="Addresses, or paths."),
    ] = ()
    prefix: Annotated[
        Annotated[str, Meta(max_length=500, pattern="^/")] | None,
        Meta(description="All cached pages whose path begins so; `/` for all of them."),
    ] = None
    sitemap: Annotated[
        Annotated[str, Meta(max_length=2_048)] | None, Meta(description="All pages of a sitemap.")
    ] = None


class RecacheAccepted(Struct, frozen=True, rename="camel"):
    """The job that queues the renders."""

    job_id: str
    status_url: str
