"""The documentation is the same for every test of a file, and rendering it takes long."""

import pytest
from tests.doors.services import Visit


@pytest.fixture(scope="module")
def visit(shared_visit: Visit) -> Visit:
    return shared_visit
