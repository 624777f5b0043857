"""RefreshChange: how an existing crawl is to be kept fresh."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.crawl.spec import MAX_REFRESH_BUDGET, MAX_REFRESH_SECONDS, MIN_REFRESH_SECONDS, Refreshing

_Seconds = Annotated[int, Meta(ge=MIN_REFRESH_SECONDS, le=MAX_REFRESH_SECONDS)]


class RefreshChange(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is left out stays as it is."""

    refresh: Annotated[Refreshing | UnsetType, Meta(description="Keep the pages fresh, or do not.")] = UNSET
    refresh_budget: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_REFRESH_BUDGET)] | UnsetType,
        Meta(description="Visits to each host a day."),
    ] = UNSET
    refresh_least: Annotated[
        _Seconds | UnsetType, Meta(description="Seconds between two visits to a page, at least.")
    ] = UNSET
    refresh_most: Annotated[
        _Seconds | UnsetType, Meta(description="Seconds between two visits to a page, at most.")
    ] = UNSET

    @property
    def fields(self) -> dict[str, Any]:
        """What is given, by the names of the spec's fields."""
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in given.items() if value is not UNSET}

    @property
    def options(self) -> dict[str, Any]:
        """The same by the names in JSON."""
        names = dict(zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True))
        return {names[name]: value for name, value in self.fields.items()}
