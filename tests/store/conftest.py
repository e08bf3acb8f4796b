"""The simulated platforms of the scheduler's tests."""

from tests.scheduler.conftest import closing_server, empty_platform, platform

__all__ = ["closing_server", "empty_platform", "platform"]
