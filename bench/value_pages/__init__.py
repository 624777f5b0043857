"""Pages without structured data, and the values that a person reads on them."""

from typing import Final

from bench.value_pages.case import ValueCase
from bench.value_pages.listings import LISTINGS
from bench.value_pages.products import PRODUCTS
from bench.value_pages.texts import TEXTS

FAMILIES: Final[dict[str, tuple[ValueCase, ...]]] = {
    "one product": PRODUCTS,
    "lists": LISTINGS,
    "texts": TEXTS,
}
