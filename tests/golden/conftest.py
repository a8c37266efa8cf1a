"""The flag that rewrites golden files: pytest tests/golden --update-golden."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden."""
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Return whether golden files are to be written."""
    # Where the flag was not known at start, because the run began above this folder, nothing is rewritten.
    return bool(request.config.getoption("--update-golden", default=False))
