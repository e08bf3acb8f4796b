"""The limits of the open streams."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from api.http.errors import TooManyStreams
from api.http.open_streams import MAX_FILES, OpenStreams
from api.wiring import make_services
from config.limits import Limits, limits_of
from config.settings import ApiSettings, Settings, Tenant
from store.errors import ServerBusy


class Stream:
    def sweep(self, now: float) -> None:
        pass


def test_a_tenant_is_refused_at_half_of_the_limit_and_others_are_not() -> None:
    streams = OpenStreams(4, 15.0, several_tenants=True)
    with ExitStack() as first:
        for _ in range(2):
            first.enter_context(streams.hold(Stream(), "one"))
        with pytest.raises(ServerBusy), streams.hold(Stream(), "one"):
            pass
        with streams.hold(Stream(), "two"), streams.hold(Stream(), "three"):
            assert len(streams) == 4
            with pytest.raises(ServerBusy), streams.hold(Stream(), "four"):
                pass
    with streams.hold(Stream(), "one"):
        assert len(streams) == 1


def test_a_platform_without_configured_tenants_gives_all_streams_to_its_only_one() -> None:
    streams = OpenStreams(2, 15.0, several_tenants=False)
    with streams.hold(Stream(), "default"), streams.hold(Stream(), "default"):
        assert len(streams) == 2


@pytest.mark.parametrize(("names", "room"), [(("default", "admin"), 4), (("default", "other"), 2)])
def test_the_tenants_that_every_platform_has_do_not_share_the_streams(
    tmp_path: Path, names: tuple[str, ...], room: int
) -> None:
    tenants = {name: Tenant(name) for name in names}
    settings = Settings(data_dir=tmp_path, api=ApiSettings(max_streams=4), tenants=tenants)
    streams = make_services(settings)[OpenStreams]
    with ExitStack() as stack:
        for _ in range(room):
            stack.enter_context(streams.hold(Stream(), "default"))
        with pytest.raises(ServerBusy), streams.hold(Stream(), "default"):
            pass


def limits(**own: int) -> Limits:
    return limits_of(Tenant("one", **own), Settings())  # type: ignore[arg-type]


def test_a_tenant_is_refused_at_its_own_limit_and_others_are_not() -> None:
    streams = OpenStreams(100, 15.0, several_tenants=True)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(streams.hold(Stream(), "one", limits(max_streams=3)))
        with pytest.raises(TooManyStreams), streams.hold(Stream(), "one", limits(max_streams=3)):
            pass
        stack.enter_context(streams.hold(Stream(), "two", limits(max_streams=3)))
        stack.enter_context(streams.hold(Stream(), "one", limits()))
    with streams.hold(Stream(), "one", limits(max_streams=1)):
        assert len(streams) == 1


def test_one_response_has_no_more_readers_than_its_limit() -> None:
    streams = OpenStreams(100, 15.0, several_tenants=True)
    with streams.count_reader("a", limits(max_readers=2)), streams.count_reader("a", limits(max_readers=2)):
        with pytest.raises(TooManyStreams), streams.count_reader("a", limits(max_readers=2)):
            pass
        with streams.count_reader("b", limits(max_readers=2)):
            pass
    with streams.count_reader("a", limits(max_readers=1)):
        pass


def test_downloads_are_bounded_of_one_tenant_and_of_all() -> None:
    streams = OpenStreams(1000, 15.0, several_tenants=True)
    with ExitStack() as held:
        for _ in range(MAX_FILES // 2):
            held.enter_context(streams.hold_file("one"))
        with pytest.raises(ServerBusy), streams.hold_file("one"):
            pass
        for _ in range(MAX_FILES // 2):
            held.enter_context(streams.hold_file("two"))
        with pytest.raises(ServerBusy), streams.hold_file("three"):
            pass
    with streams.hold_file("one"):
        pass
