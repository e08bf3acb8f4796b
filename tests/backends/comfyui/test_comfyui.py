"""ImageEngine by the double of ComfyUI, or by a true one (`conftest.py` says how)."""

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
from tests.backends.comfyui.conftest import ImageEngine, load, progress, results, workflow
from tests.backends.conftest import has_ended
from tests.support.generations import on_loop, submit
from tests.support.pictures import png
from tests.support.waiting import scaled, wait_until


def test_a_load_reports_progress_and_the_version(image_engine: ImageEngine) -> None:
    steps = [done for done, _ in image_engine.launched.progress]
    assert steps == sorted(steps)
    assert {"starting ComfyUI", "checking ComfyUI"} <= {stage for _, stage in image_engine.launched.progress}
    assert image_engine.launched.engine.facts.version
    assert image_engine.launched.engine.slots == 1


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
    image_engine: ImageEngine, method: str, path: str, key: str | None
) -> None:
    client = image_engine.launched.engine._api.client
    connection = HTTPConnection(client.host, client.port, timeout=scaled(30))
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    upgrade |= {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    headers = (upgrade if path == "/ws" else {}) | ({} if key is None else {"Authorization": key})
    connection.request(method, path, b"{}" if method == "POST" else None, headers)
    assert connection.getresponse().status == 401
    connection.close()


def test_an_image_has_its_size_its_file_and_its_usage(image_engine: ImageEngine) -> None:
    answer = image_engine.make(steps=4)
    (result,) = results(answer)
    content = image_engine.content(result)
    assert content.startswith(b"\x89PNG")
    assert result == MediaDelta(0, "image-0.png", "image/png", len(content), 64, 64)
    assert answer.finish.reason == "stop"
    assert answer.finish.usage == Usage(images=1, pixel_steps=64 * 64 * 4)
    assert image_engine.left == []


def test_progress_grows_and_is_reported_at_most_twice_a_second(image_engine: ImageEngine) -> None:
    answer = image_engine.make(width=256, height=256, steps=5)
    reports = progress(answer)
    assert reports[0].done == 0
    assert len(reports) > 1
    assert all(a.done <= b.done and a.total <= b.total for a, b in pairwise(reports))
    assert all(report.done <= report.total == 5 for report in reports)
    times = [at for delta, at in zip(answer.deltas, answer.times, strict=True) if delta in reports]
    assert all(later - earlier >= 0.45 for earlier, later in pairwise(times))


def test_the_same_request_again_is_cached_and_pays_one_unit(image_engine: ImageEngine) -> None:
    first, again = image_engine.make(seed=7), image_engine.make(seed=7)
    assert [delta.cached for delta in results(first)] == [False]
    assert [delta.cached for delta in results(again)] == [True]
    assert image_engine.content(results(again)[0]).startswith(b"\x89PNG")
    assert again.finish.usage == Usage(images=1, pixel_steps=1)
    assert again.finish.usage.units == 1


def test_an_equal_request_of_another_namespace_is_computed(image_engine: ImageEngine) -> None:
    image_engine.make(seed=8, namespace="1" * 32)
    assert [delta.cached for delta in results(image_engine.make(seed=8, namespace="2" * 32))] == [False]
    image_engine.make(seed=8, namespace=None)
    assert [delta.cached for delta in results(image_engine.make(seed=8, namespace=None))] == [False]


def test_a_request_without_a_seed_is_computed_each_time(image_engine: ImageEngine) -> None:
    assert not any(delta.cached for _ in range(2) for delta in results(image_engine.make()))


def test_two_images_are_a_batch_where_the_template_has_one(image_engine: ImageEngine) -> None:
    answer = image_engine.make(count=2, steps=2)
    assert [delta.name for delta in results(answer)] == ["image-0.png", "image-1.png"]
    assert answer.finish.usage == Usage(images=2, pixel_steps=2 * 64 * 64 * 2)


def test_two_changed_images_have_seeds_in_turn(image_engine: ImageEngine) -> None:
    id, folder = image_engine.job(cat=png(32, 32))
    request = image_engine.image(folder, images=("cat.png",), count=2, seed=3)
    answer = image_engine.launched.answer(request, id)
    assert [(delta.index, delta.width, delta.height) for delta in results(answer)] == [
        (0, 64, 64),
        (1, 64, 64),
    ]
    assert len({image_engine.content(delta) for delta in results(answer)}) == 2
    assert image_engine.left == []


@pytest.mark.parametrize("kind", ["jpeg", "webp"])
def test_an_image_is_converted_on_request(image_engine: ImageEngine, kind: str) -> None:
    (result,) = results(image_engine.make(format=kind, compression=80))
    assert result.type == f"image/{kind}"
    assert image_engine.content(result)[: 2 if kind == "jpeg" else 4] in (b"\xff\xd8", b"RIFF")
    assert result.width > 0


def test_previews_are_spread_over_the_steps(image_engine: ImageEngine) -> None:
    answer = image_engine.make(steps=8, previews=2)
    previews = [delta for delta in answer.deltas if isinstance(delta, MediaDelta)][:-1]
    assert [(delta.preview, delta.name, delta.type) for delta in previews] == [
        (0, "preview-0.jpg", "image/jpeg"),
        (1, "preview-1.jpg", "image/jpeg"),
    ]
    assert all(image_engine.content(delta).startswith(b"\xff\xd8") for delta in previews)


def test_a_quality_is_a_number_of_steps(image_engine: ImageEngine) -> None:
    assert image_engine.make(quality="low").finish.usage.pixel_steps == 64 * 64
    assert image_engine.make(quality="auto").finish.usage.pixel_steps == 64 * 64 * 2


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
def test_a_request_beyond_the_model_is_refused(
    image_engine: ImageEngine, fields: dict, sentence: str
) -> None:
    with pytest.raises(GenerationError, match=sentence):
        image_engine.make(**fields)
    assert results(image_engine.make())


def test_a_cancelled_image_ends_after_its_step_and_spares_the_next(image_engine: ImageEngine) -> None:
    id, folder = image_engine.job()
    answer, thread = image_engine.launched.begin(
        image_engine.image(folder, width=256, height=256, steps=200), id
    )
    wait_until(lambda: any(report.done for report in progress(answer)), scaled(60))
    image_engine.launched.cancel(id)
    thread.join(scaled(60))
    assert answer.finish.reason == "cancelled"
    assert 256 * 256 <= answer.finish.usage.pixel_steps < 256 * 256 * 100
    assert len(results(image_engine.make(seed=1))) == 1
    assert image_engine.left == []
    assert not [delta for delta in answer.deltas if isinstance(delta, MediaDelta)]


def test_a_request_that_is_cancelled_before_its_turn_never_runs(image_engine: ImageEngine) -> None:
    first, folder = image_engine.job()
    slow, thread = image_engine.launched.begin(
        image_engine.image(folder, width=256, height=256, steps=50), first
    )
    wait_until(lambda: any(report.done for report in progress(slow)), scaled(60))
    second, folder = image_engine.job()
    answer, waiting = image_engine.launched.begin(image_engine.image(folder), second)
    image_engine.launched.cancel(second)
    waiting.join(scaled(60))
    assert (answer.finish.reason, answer.finish.usage) == ("cancelled", Usage())
    image_engine.launched.cancel(first)
    thread.join(scaled(60))


def test_cancels_at_any_moment_leave_the_engine_free(image_engine: ImageEngine) -> None:
    for rounds in range(8):
        id, folder = image_engine.job()
        answer, thread = image_engine.launched.begin(image_engine.image(folder, steps=50), id)
        for _ in range(5 * rounds):
            on_loop(int)
        image_engine.launched.cancel(id)
        thread.join(scaled(60))
        assert answer.finish.reason == "cancelled"
    assert len(results(image_engine.make())) == 1
    assert image_engine.left == []


def test_a_workflow_of_a_request_is_run(image_engine: ImageEngine) -> None:
    answer = image_engine.run(workflow(seed=5, steps=3))
    (result,) = results(answer)
    assert (result.name, result.width, result.height) == ("image-0.png", 64, 64)
    assert answer.finish.usage == Usage(images=1, pixel_steps=64 * 64 * 3)
    assert image_engine.left == []


def test_a_node_outside_the_list_is_refused_by_the_engine_too(image_engine: ImageEngine) -> None:
    graph = workflow()
    graph["8"] = {"class_type": "LoadLatent", "inputs": {"latent": "x"}}
    with pytest.raises(GenerationError, match="node 8: this model does not allow nodes of the class"):
        image_engine.run(graph)


def test_a_validation_error_names_the_node_and_the_input(image_engine: ImageEngine) -> None:
    graph = workflow()
    graph["4"]["inputs"]["width"] = 1
    with pytest.raises(GenerationError) as caught:
        image_engine.run(graph)
    assert caught.value.code == "invalid_prompt"
    assert str(caught.value) == "node 4 (EmptyLatentImage): input width is too small"


def test_a_checkpoint_that_does_not_exist_is_refused(image_engine: ImageEngine) -> None:
    graph = workflow()
    graph["1"]["inputs"]["ckpt_name"] = "../secret"
    with pytest.raises(GenerationError, match=r"node 1 .*input ckpt_name is not among the values") as caught:
        image_engine.run(graph)
    assert "secret" not in str(caught.value)


def test_a_job_whose_folder_is_gone_fails(image_engine: ImageEngine) -> None:
    id, _ = image_engine.job()
    request = image_engine.image(f"{'b' * 64}/jobs/{id}")
    with pytest.raises(GenerationError, match="its job has ended"):
        image_engine.launched.answer(request, id)
    assert image_engine.left == []


def test_a_request_for_text_is_refused(image_engine: ImageEngine) -> None:
    from tests.backends.conftest import ask

    with pytest.raises(GenerationError) as caught:
        image_engine.launched.answer(ask("hello"))
    assert caught.value.code == "generation_unsupported"


def test_a_sink_that_raises_ends_its_own_request(image_engine: ImageEngine) -> None:
    def refuse(_delta: object) -> None:
        raise ValueError("no")

    id, folder = image_engine.job()
    sink = submit(image_engine.launched.engine, id, image_engine.image(folder), refuse)
    with pytest.raises(GenerationError, match="the engine failed"):
        sink.result()
    assert len(results(image_engine.make())) == 1


@pytest.mark.rule("runner/comfyui")
def test_a_flush_drops_the_results_of_other_namespaces(image_engine: ImageEngine) -> None:
    image_engine.make(seed=9)
    kept = image_engine.launched.flush(image_engine.image("", seed=9))
    assert kept.entries == 0
    assert results(image_engine.make(seed=9))[0].cached
    assert image_engine.launched.flush().reason
    assert not results(image_engine.make(seed=9))[0].cached


def test_a_flush_during_a_request_drops_its_results_at_its_end(image_engine: ImageEngine) -> None:
    id, folder = image_engine.job()
    request = image_engine.image(folder, width=256, height=256, steps=3, seed=10)
    answer, thread = image_engine.launched.begin(request, id)
    wait_until(lambda: any(report.done for report in progress(answer)), scaled(60))
    assert image_engine.launched.flush().reason
    thread.join(scaled(60))
    assert len(results(answer)) == 1
    assert not results(image_engine.make(width=256, height=256, steps=3, seed=10))[0].cached


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
    old = tmp_path / "engine" / "requests" / "output" / "old.png"
    old.parent.mkdir(parents=True)
    old.touch()
    loaded = load(tmp_path)
    assert not old.exists()
    loaded.launched.engine.stop(1.0)


def test_a_task_estimates_its_units() -> None:
    assert ImageTask("a cat", 1024, 1024, steps=20).estimated_units == 209
