"""Pictures by the double of ComfyUI, or by a true one (`conftest.py` says how)."""

from __future__ import annotations

import os
import signal
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path

import pytest

from backends.base import GenerationError
from engines.engine_process.errors import EngineLost
from generation.media import ImageTask
from streams.events import Usage
from streams.media_events import MediaDelta
from tests.backends.comfyui.conftest import Pictures, load, progress, results, workflow
from tests.backends.conftest import has_ended
from tests.support.generations import on_loop, submit
from tests.support.pictures import png
from tests.support.waiting import scaled, wait_until


def test_a_load_reports_progress_and_the_version(pictures: Pictures) -> None:
    steps = [done for done, _ in pictures.launched.progress]
    assert steps == sorted(steps)
    assert {"starting ComfyUI", "checking ComfyUI"} <= {stage for _, stage in pictures.launched.progress}
    assert pictures.launched.engine.facts.version
    assert pictures.launched.engine.slots == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in ("/", "/ws", "/queue", "/history", "/view?filename=a", "/system_stats")),
        *(("GET", path) for path in ("/internal/logs", "/api/queue", "/object_info", "/userdata?dir=.")),
        *(("POST", path) for path in ("/prompt", "/api/prompt", "/interrupt", "/free", "/upload/image")),
    ],
)
@pytest.mark.parametrize("key", [None, "Bearer wrong"])
def test_a_route_answers_401_without_the_key(
    pictures: Pictures, method: str, path: str, key: str | None
) -> None:
    client = pictures.launched.engine._api.client
    connection = HTTPConnection(client.host, client.port, timeout=scaled(30))
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    upgrade |= {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    headers = (upgrade if path == "/ws" else {}) | ({} if key is None else {"Authorization": key})
    connection.request(method, path, b"{}" if method == "POST" else None, headers)
    assert connection.getresponse().status == 401
    connection.close()


def test_a_picture_has_its_size_its_file_and_its_usage(pictures: Pictures) -> None:
    answer = pictures.make(steps=4)
    (result,) = results(answer)
    content = pictures.content(result)
    assert content.startswith(b"\x89PNG")
    assert result == MediaDelta(0, "image-0.png", "image/png", len(content), 64, 64)
    assert answer.finish.reason == "stop"
    assert answer.finish.usage == Usage(images=1, pixel_steps=64 * 64 * 4)
    assert pictures.left == []


def test_progress_grows_and_is_reported_at_most_twice_a_second(pictures: Pictures) -> None:
    answer = pictures.make(width=256, height=256, steps=5)
    reports = progress(answer)
    assert reports[0].done == 0
    assert len(reports) > 1
    assert all(a.done <= b.done and a.total <= b.total for a, b in pairwise(reports))
    assert all(report.done <= report.total == 5 for report in reports)
    times = [at for delta, at in zip(answer.deltas, answer.times, strict=True) if delta in reports]
    assert all(later - earlier >= 0.45 for earlier, later in pairwise(times))


def test_the_same_request_again_is_cached_and_pays_one_unit(pictures: Pictures) -> None:
    first, again = pictures.make(seed=7), pictures.make(seed=7)
    assert [delta.cached for delta in results(first)] == [False]
    assert [delta.cached for delta in results(again)] == [True]
    assert pictures.content(results(again)[0]).startswith(b"\x89PNG")
    assert again.finish.usage == Usage(images=1, pixel_steps=1)
    assert again.finish.usage.units == 1


def test_an_equal_request_of_another_namespace_is_computed(pictures: Pictures) -> None:
    pictures.make(seed=8, namespace="1" * 32)
    assert [delta.cached for delta in results(pictures.make(seed=8, namespace="2" * 32))] == [False]
    pictures.make(seed=8, namespace=None)
    assert [delta.cached for delta in results(pictures.make(seed=8, namespace=None))] == [False]


def test_a_request_without_a_seed_is_computed_each_time(pictures: Pictures) -> None:
    assert not any(delta.cached for _ in range(2) for delta in results(pictures.make()))


def test_two_pictures_are_a_batch_where_the_template_has_one(pictures: Pictures) -> None:
    answer = pictures.make(count=2, steps=2)
    assert [delta.name for delta in results(answer)] == ["image-0.png", "image-1.png"]
    assert answer.finish.usage == Usage(images=2, pixel_steps=2 * 64 * 64 * 2)


def test_two_changed_pictures_have_seeds_in_turn(pictures: Pictures) -> None:
    id, folder = pictures.job(cat=png(32, 32))
    request = pictures.image(folder, images=("cat.png",), count=2, seed=3)
    answer = pictures.launched.answer(request, id)
    assert [(delta.index, delta.width, delta.height) for delta in results(answer)] == [
        (0, 64, 64),
        (1, 64, 64),
    ]
    assert len({pictures.content(delta) for delta in results(answer)}) == 2
    assert pictures.left == []


@pytest.mark.parametrize("kind", ["jpeg", "webp"])
def test_a_picture_is_converted_on_request(pictures: Pictures, kind: str) -> None:
    (result,) = results(pictures.make(format=kind, compression=80))
    assert result.type == f"image/{kind}"
    assert pictures.content(result)[: 2 if kind == "jpeg" else 4] in (b"\xff\xd8", b"RIFF")
    assert result.width > 0


def test_previews_are_spread_over_the_steps(pictures: Pictures) -> None:
    answer = pictures.make(steps=8, previews=2)
    previews = [delta for delta in answer.deltas if isinstance(delta, MediaDelta)][:-1]
    assert [(delta.preview, delta.name, delta.type) for delta in previews] == [
        (0, "preview-0.jpg", "image/jpeg"),
        (1, "preview-1.jpg", "image/jpeg"),
    ]
    assert all(pictures.content(delta).startswith(b"\xff\xd8") for delta in previews)


def test_a_quality_is_a_number_of_steps(pictures: Pictures) -> None:
    assert pictures.make(quality="low").finish.usage.pixel_steps == 64 * 64
    assert pictures.make(quality="auto").finish.usage.pixel_steps == 64 * 64 * 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"width": 128}, "the sizes of this model are 64x64, 256x256"),
        ({"count": 3}, "at most 2 images"),
        ({"quality": "huge"}, "the qualities of this model are low, auto"),
        ({"mask": "mask.png"}, "does not support mask"),
        ({"images": ("a.png", "b.png")}, "changes 1 images, not 2"),
    ],
)
def test_a_request_beyond_the_model_is_refused(pictures: Pictures, fields: dict, sentence: str) -> None:
    with pytest.raises(GenerationError, match=sentence):
        pictures.make(**fields)
    assert results(pictures.make())


def test_a_cancelled_picture_ends_after_its_step_and_spares_the_next(pictures: Pictures) -> None:
    id, folder = pictures.job()
    answer, thread = pictures.launched.begin(pictures.image(folder, width=256, height=256, steps=200), id)
    wait_until(lambda: any(report.done for report in progress(answer)), scaled(60))
    pictures.launched.cancel(id)
    thread.join(scaled(60))
    assert answer.finish.reason == "cancelled"
    assert 256 * 256 <= answer.finish.usage.pixel_steps < 256 * 256 * 100
    assert len(results(pictures.make(seed=1))) == 1
    assert pictures.left == []
    assert not [delta for delta in answer.deltas if isinstance(delta, MediaDelta)]


def test_a_request_that_is_cancelled_before_its_turn_never_runs(pictures: Pictures) -> None:
    first, folder = pictures.job()
    slow, thread = pictures.launched.begin(pictures.image(folder, width=256, height=256, steps=50), first)
    wait_until(lambda: any(report.done for report in progress(slow)), scaled(60))
    second, folder = pictures.job()
    answer, waiting = pictures.launched.begin(pictures.image(folder), second)
    pictures.launched.cancel(second)
    waiting.join(scaled(60))
    assert (answer.finish.reason, answer.finish.usage) == ("cancelled", Usage())
    pictures.launched.cancel(first)
    thread.join(scaled(60))


def test_cancels_at_any_moment_leave_the_engine_free(pictures: Pictures) -> None:
    for rounds in range(8):
        id, folder = pictures.job()
        answer, thread = pictures.launched.begin(pictures.image(folder, steps=50), id)
        for _ in range(5 * rounds):
            on_loop(int)
        pictures.launched.cancel(id)
        thread.join(scaled(60))
        assert answer.finish.reason == "cancelled"
    assert len(results(pictures.make())) == 1
    assert pictures.left == []


def test_a_workflow_of_a_request_is_run(pictures: Pictures) -> None:
    answer = pictures.run(workflow(seed=5, steps=3))
    (result,) = results(answer)
    assert (result.name, result.width, result.height) == ("image-0.png", 64, 64)
    assert answer.finish.usage == Usage(images=1, pixel_steps=64 * 64 * 3)
    assert pictures.left == []


def test_a_node_outside_the_list_is_refused_by_the_engine_too(pictures: Pictures) -> None:
    graph = workflow()
    graph["8"] = {"class_type": "LoadLatent", "inputs": {"latent": "x"}}
    with pytest.raises(GenerationError, match="node 8: this model does not allow nodes of the class"):
        pictures.run(graph)


def test_a_validation_error_names_the_node_and_the_input(pictures: Pictures) -> None:
    graph = workflow()
    graph["4"]["inputs"]["width"] = 1
    with pytest.raises(GenerationError) as caught:
        pictures.run(graph)
    assert caught.value.code == "invalid_prompt"
    assert str(caught.value) == "node 4 (EmptyLatentImage): input width is too small"


def test_a_checkpoint_that_does_not_exist_is_refused(pictures: Pictures) -> None:
    graph = workflow()
    graph["1"]["inputs"]["ckpt_name"] = "../secret"
    with pytest.raises(GenerationError, match=r"node 1 .*input ckpt_name is not among the values") as caught:
        pictures.run(graph)
    assert "secret" not in str(caught.value)


def test_a_job_whose_folder_is_gone_fails(pictures: Pictures) -> None:
    id, _ = pictures.job()
    request = pictures.image(f"{'b' * 64}/jobs/{id}")
    with pytest.raises(GenerationError, match="its job has ended"):
        pictures.launched.answer(request, id)
    assert pictures.left == []


def test_a_request_for_text_is_refused(pictures: Pictures) -> None:
    from tests.backends.conftest import ask

    with pytest.raises(GenerationError) as caught:
        pictures.launched.answer(ask("hello"))
    assert caught.value.code == "generation_unsupported"


def test_a_sink_that_raises_ends_its_own_request(pictures: Pictures) -> None:
    def refuse(_delta: object) -> None:
        raise ValueError("no")

    id, folder = pictures.job()
    sink = submit(pictures.launched.engine, id, pictures.image(folder), refuse)
    with pytest.raises(GenerationError, match="the engine failed"):
        sink.result()
    assert len(results(pictures.make())) == 1


@pytest.mark.rule("runner/comfyui")
def test_a_flush_drops_the_results_of_other_namespaces(pictures: Pictures) -> None:
    pictures.make(seed=9)
    kept = pictures.launched.flush(pictures.image("", seed=9))
    assert kept.entries == 0
    assert results(pictures.make(seed=9))[0].cached
    assert pictures.launched.flush().reason
    assert not results(pictures.make(seed=9))[0].cached


def test_a_flush_during_a_request_drops_its_results_at_its_end(pictures: Pictures) -> None:
    id, folder = pictures.job()
    request = pictures.image(folder, width=256, height=256, steps=3, seed=10)
    answer, thread = pictures.launched.begin(request, id)
    wait_until(lambda: any(report.done for report in progress(answer)), scaled(60))
    assert pictures.launched.flush().reason
    thread.join(scaled(60))
    assert len(results(answer)) == 1
    assert not results(pictures.make(width=256, height=256, steps=3, seed=10))[0].cached


def test_a_killed_server_fails_its_request_and_leaves_no_file(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    id, folder = loaded.job(cat=png(32, 32))
    request = loaded.image(folder, width=256, height=256, steps=200, images=("cat.png",))
    answer, thread = loaded.launched.begin(request, id)
    wait_until(lambda: any(report.done for report in progress(answer)), scaled(60))
    os.kill(loaded.launched.engine.pid, signal.SIGKILL)
    thread.join(scaled(30))
    assert isinstance(answer.error, EngineLost)
    assert has_ended(loaded.launched.engine.pid, scaled(2))
    assert loaded.launched.exits.get(timeout=scaled(10)).signal == signal.SIGKILL
    loaded.launched.engine.stop(1.0)
    assert loaded.left == []


def test_the_files_of_an_earlier_engine_are_removed_at_the_start(tmp_path: Path) -> None:
    old = tmp_path / "engine" / "comfyui" / "output" / "old.png"
    old.parent.mkdir(parents=True)
    old.touch()
    loaded = load(tmp_path)
    assert not old.exists()
    loaded.launched.engine.stop(1.0)


def test_a_task_estimates_its_units() -> None:
    assert ImageTask("a cat", 1024, 1024, steps=20).estimated_units == 209
