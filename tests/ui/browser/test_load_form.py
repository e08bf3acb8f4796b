"""The page Models in a browser: the load form of each backend, the plan of a load; load, repair, unload.

The platform has a model of each backend, none of which is loaded: the form needs no engine. The backend
`stub` gets two more options, in each process of the platform, as its `options.py` would have them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sysconfig
import time
import venv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from backends.catalogue import BACKENDS
from config.settings import ROOT
from tests.seeds import RUNTIME_ADMIN_API
from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import HOSTILE, check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

MIB = 1 << 20
GIANT_MIB = 4 << 20
ADDED: dict[str, dict[str, Any]] = {
    "stub_pace": {"kind": "integer", "minimum": 2, "maximum": 9, "step": 1},
    "stub_colour": {"kind": "colour_of_the_case", "default": "red"},
}
MORE_OPTIONS = f"""
import dataclasses
import sys
sys.path.insert(0, {str(ROOT)!r})
import backends.stub.options as stub
from backends.declaration import LoadField, Option

def option(name, constraint):
    return Option(name, "string", None, "what " + name + " is for", nullable=True,
                  load_field=LoadField(constraint))

added = tuple(option(name, constraint) for name, constraint in {ADDED!r}.items())
stub.BACKEND = dataclasses.replace(stub.BACKEND, options=stub.BACKEND.options + added)
"""
"""Python imports the module `sitecustomize` at its start."""


def models(folder: Path) -> dict[str, Any]:
    giant = folder / "giant.weights"
    with giant.open("wb") as file:
        file.truncate(GIANT_MIB * MIB)  # sparse
    return {
        "stoker-demo": {"enabled": False},
        "org/stub": {"backend": "stub", "replica_max": 3, "stub_memory_mib": 8},
        "broken": {"backend": "stub", "stub_load_fail": HOSTILE},
        "giant": {"backend": "stub", "stub_artifact": str(giant)},
        "gone": {"backend": "llama_server", "model_path": str(folder / "gone.gguf")},
        "of-stub": {"backend": "stub", "replica_max": 2},
        "of-openai_remote": {"backend": "openai_remote", "openai_remote_url": "http://127.0.0.1:9/v1"},
        "of-comfyui": {
            "backend": "comfyui",
            "comfyui_path": str(folder),
            "comfyui_workflow": str(folder / "workflow.json"),
            "comfyui_binding": {"prompt": "6.text"},
        },
        "of-exllamav3": {
            "backend": "exllamav3",
            "model_path": str(folder),
            "exllama_cache_quant": "8,8",
        },
        **{
            f"of-{name}": {"backend": name, "model_path": str(folder)}
            for name in BACKENDS
            if name not in ("comfyui", "exllamav3", "openai_remote", "stub")
        },
    }


def environment_with(folder: Path, sitecustomize: str) -> str:
    """The Python of an environment with the packages of this one, which begins with `sitecustomize`.

    The variable PYTHONPATH could not add it: Stoker searches its folders last.
    """
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "outer.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (packages / "sitecustomize.py").write_text(sitecustomize)
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("load_form")
    python = environment_with(folder / "python", MORE_OPTIONS)
    local = {"models": models(folder), "restart": {"max_restarts": 0}}
    with running_platform(
        folder / "up",
        local,
        "--port",
        "0",
        "--no-flower",
        environment={"CUDA_VISIBLE_DEVICES": ""},
        python=python,
    ) as platform:
        platform.wait_for(lambda: platform.model("giant")["vram_estimate_mib"], 20, "sizes of files")
        path = "/v1/admin/models/gone/load/plan"
        platform.wait_for(lambda: platform.admin("POST", path, {})[1]["problem"], 20, "obstacles")
        yield platform


def row_of(page: Any, name: str) -> Any:
    return page.locator(f"tbody[data-row='{name}']")


def open_form(page: Any, name: str, action: str = "Load") -> Any:
    """Open the dialog of an action on a model; returns it."""
    page.get_by_role("button", name=f"{action}: {name}", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    return dialog


def field(dialog: Any, name: str) -> Any:
    return dialog.locator(f"[data-field='{name}']")


def command(dialog: Any) -> Any:
    """The body of the command that the form shows."""
    text = dialog.locator("pre").first.text_content()
    return json.loads(re.search(r"-d '(.*)'$", text)[1])


def control(field: Any) -> Any:
    """The one control of a field: its input, or its list."""
    return field.locator("input, select")


def null_of(field: Any) -> Any:
    """What sets a field to null: a button beside its input, or an entry of its list."""
    return field.get_by_role("button", name=re.compile(r": null\b")).or_(
        field.locator("option", has_text=re.compile("^null"))
    )


def enter(field: Any, text: str) -> None:
    control(field).fill(text)


def verdict(dialog: Any) -> Any:
    """What stands beside the button that loads, in view at every place of the form."""
    return dialog.locator("[id$=-verdict]")


def planned(page: Any, body: dict[str, Any], change: Callable[[], Any]) -> Any:
    """The answer with the plan of this body, which is asked for after a change."""

    def is_of_body(answer: Any) -> bool:
        return answer.url.endswith("/load/plan") and answer.request.post_data_json == body

    with page.expect_response(is_of_body) as found:
        change()
    return found.value


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_the_form_of_a_backend_equals_its_constraints(
    signed_in: Callable[[str], Any], platform: Platform, backend: str
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, f"of-{backend}")
    given = RUNTIME_ADMIN_API["load_constraints"].get(backend, BACKENDS[backend].load_constraints)
    expected = given | (ADDED if backend == "stub" else {})
    row = platform.model(f"of-{backend}")
    assert row["load_constraints"] == expected
    names = [each.get_attribute("data-field") for each in dialog.locator("[data-field]").all()]
    assert sorted(names) == sorted(["replicas", *row["load_constraints"]])
    for name, constraint in expected.items():
        shown = field(dialog, name)
        assert shown.get_attribute("data-state") == "unset"
        assert control(shown).count() == 1
        assert name in (shown.locator("code, label").all_text_contents())
        assert null_of(shown).count() == (name in row["nullable_load_fields"])
        scale = MIB if constraint.get("display_unit") == "mib" else 1
        if allowed := constraint.get("allowed_values"):
            offered = shown.locator("option").all_text_contents()
            assert offered[-len(allowed) :] == [str(value) for value in allowed]
        else:
            assert shown.locator("select").count() == 0
            hint = shown.inner_text().replace(",", "")
            for bound in ("minimum", "maximum"):
                if bound in constraint:
                    assert f"{constraint[bound] / scale:.12g}" in hint, name
        if scale == MIB:
            assert "MiB" in shown.inner_text()
        if name in row["nullable_load_fields"]:
            meaning = row["load_null_meanings"][name]
            assert f"null ({meaning})" in shown.inner_text()
        about = row["load_field_descriptions"][name]
        assert about in shown.inner_text()
    presets = RUNTIME_ADMIN_API["load_recommendations"].get(backend, {})
    labels = [pair["label"] for group in presets.values() for pair in group["recommended_pairs"]]
    assert dialog.locator("[data-presets] button").all_text_contents() == labels


def test_an_option_that_is_added_to_a_backends_table_is_in_the_form(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "of-stub")
    known, unknown = field(dialog, "stub_pace"), field(dialog, "stub_colour")
    assert "from 2 to 9" in known.inner_text()
    assert "colour_of_the_case" in unknown.inner_text()
    assert "JSON" in unknown.inner_text()
    enter(unknown, "blue")
    unknown.get_by_role("alert").wait_for()
    assert command(dialog) == {}
    enter(unknown, '"blue"')
    answer = planned(page, {"stub_pace": 10, "stub_colour": "blue"}, lambda: enter(known, "10"))
    assert "at most 9" in known.get_by_role("alert").inner_text()
    assert answer.status == 400
    assert "400" in problems.pop()
    valid = {"stub_pace": 9, "stub_colour": "blue"}
    assert planned(page, valid, lambda: enter(known, "9")).json()["override"] == valid


def test_unset_null_and_a_value_are_three_different_loads(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "of-exllamav3")
    quant = field(dialog, "exllama_cache_quant")
    assert control(quant).get_attribute("placeholder") == "As configured: 8,8"
    assert command(dialog) == {}
    for change, body in (
        (null_of(quant).click, {"exllama_cache_quant": None}),
        (lambda: enter(quant, "8,4"), {"exllama_cache_quant": "8,4"}),
        (lambda: enter(quant, ""), {}),
        (lambda: enter(quant, "4,4"), {"exllama_cache_quant": "4,4"}),
        (quant.get_by_role("button", name="Reset").click, {}),
    ):
        answer = planned(page, body, change)
        assert answer.json()["override"] == body
        assert command(dialog) == body
    dialog.get_by_role("button", name="fp16", exact=True).click()
    assert command(dialog) == {"exllama_cache_k_bits": None, "exllama_cache_v_bits": None}
    assert field(dialog, "exllama_cache_k_bits").get_attribute("data-state") == "null"
    dialog.get_by_role("button", name="8/4", exact=True).click()
    assert command(dialog) == {"exllama_cache_k_bits": 8, "exllama_cache_v_bits": 4}
    dialog.get_by_role("button", name="All as configured").click()
    assert command(dialog) == {}


def test_bytes_are_entered_as_mebibytes(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "of-vllm")
    body = {"vllm_kv_cache_memory_bytes": 512 * MIB}
    answer = planned(page, body, lambda: enter(field(dialog, "vllm_kv_cache_memory_bytes"), "512"))
    assert answer.status == 200


@pytest.mark.parametrize(
    ("model", "at", "value", "refusal"),
    [
        ("of-exllamav3", "exllama_cache_size", "8000", (400, "multiple of 256")),
        ("of-llama_cpp", "gguf_n_ctx", "0", (422, "1")),
        ("of-exllamav3", "exllama_cache_k_bits", "8", (400, "must be set together with")),
        ("org/stub", "replicas", "4", (400, "from 1 to 3")),
    ],
)
def test_a_refusal_stands_at_its_field_and_only_there(  # noqa: PLR0917 - the parameters of one case
    signed_in: Callable[[str], Any],
    problems: list[str],
    model: str,
    at: str,
    value: str,
    refusal: tuple[int, str],
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, model)
    shown, (status, message) = field(dialog, at), refusal
    chooses = shown.locator("select").count() == 1
    change = (
        partial(shown.locator("select").select_option, value) if chooses else partial(enter, shown, value)
    )
    assert planned(page, {at: int(value)}, change).status == status
    alert = field(dialog, at).get_by_role("alert")
    alert.wait_for()
    assert message in alert.inner_text()
    assert dialog.get_by_role("alert").count() == 1
    refused = field(dialog, at).locator("[aria-invalid=true]")
    assert alert.get_attribute("id") in refused.get_attribute("aria-describedby")
    label = field(dialog, at).locator("label").inner_text()
    assert f"see “{label}”" in verdict(dialog).inner_text()
    with page.expect_response(lambda answer: answer.url.endswith("/load")) as found:
        dialog.get_by_role("button", name="Load", exact=True).click()
    assert found.value.status == status
    alert.wait_for()
    assert problems
    assert all(str(status) in problem for problem in problems)
    problems.clear()


def test_a_load_that_does_not_fit_shows_the_numbers_before_and_after(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "giant")
    reason = verdict(dialog).get_by_role("alert")
    reason.wait_for()
    assert f"{GIANT_MIB} MiB" in reason.inner_text()
    assert "It would be refused now" in reason.inner_text()
    assert "4096.0 GiB (computed from the files and the settings)" in dialog.inner_text()
    bar = dialog.get_by_role("img", name=re.compile(r"too large.*lacking [\d.]+ GiB"))
    bar.first.wait_for()
    with page.expect_response(lambda answer: answer.url.endswith("/load")) as found:
        dialog.get_by_role("button", name="Load", exact=True).click()
    assert found.value.status == 409
    reason.wait_for()
    assert dialog.get_by_role("alert").count() == 1
    assert f"{GIANT_MIB} MiB" in reason.inner_text()
    assert [problem for problem in problems if "409" not in problem] == []
    problems.clear()


def test_a_load_whose_file_is_missing_is_red_before_the_click(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "gone")
    verdict(dialog).get_by_text("It would begin and fail at once").wait_for()
    assert "gone.gguf does not exist" in verdict(dialog).inner_text()
    button = dialog.get_by_role("button", name="Load", exact=True)
    assert button.get_attribute("aria-describedby") == verdict(dialog).get_attribute("id")
    assert platform.model("gone")["runtime_state"] == "unloaded"


def test_an_override_that_fails_at_once_is_red_before_the_click_until_it_is_removed(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "stoker-demo")
    dialog.get_by_text("It can begin: 1 replica on").wait_for()
    method = field(dialog, "llama_server_spec_type")
    control(method).select_option("draft-mtp")
    alert = method.get_by_role("alert")
    alert.wait_for()
    assert "stoker-demo has no layers that predict several tokens" in alert.inner_text()
    assert "It would begin and fail at once" in verdict(dialog).inner_text()
    null_of(method).evaluate("option => { option.selected = true; }")
    control(method).dispatch_event("change")
    dialog.get_by_text("It can begin: 1 replica on").wait_for()
    assert command(dialog) == {"llama_server_spec_type": None}
    assert alert.count() == 0


def test_load_and_its_reason_are_in_view_at_each_place_of_a_long_form_on_a_phone(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in("/ui/admin/models")
    page.set_viewport_size({"width": 390, "height": 800})
    dialog = open_form(page, "of-vllm")
    verdict(dialog).get_by_role("alert").wait_for()
    for end in (0, 100_000):
        dialog.evaluate("(dialog, top) => dialog.scrollTo(0, top)", end)
        for shown in (dialog.get_by_role("button", name="Load", exact=True), verdict(dialog)):
            box = shown.bounding_box()
            assert 0 <= box["y"] <= box["y"] + box["height"] <= 800, end
    for each in dialog.locator("[data-field] input, [data-field] select").all():
        each.focus()
        box, footer = each.bounding_box(), verdict(dialog).bounding_box()
        assert 0 <= box["y"] <= box["y"] + box["height"] <= footer["y"], "a focused control is not covered"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert dialog.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")


def test_the_memory_bar_follows_the_context_and_a_capped_one_is_explained(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "stoker-demo")
    context = field(dialog, "llama_server_n_ctx")
    cache = dialog.locator("[data-worker] [data-part=cache]").first

    def width(tokens: str) -> float:
        planned(page, {"llama_server_n_ctx": int(tokens)}, lambda: enter(context, tokens))
        dialog.get_by_text(f"{int(tokens):,} tokens", exact=True).wait_for()
        return float(cache.get_attribute("width"))

    narrow, wide = width("256"), width("1024")
    assert wide > narrow
    assert re.search("The model was made for [0-9,]+ tokens; they fit", context.inner_text())
    planned(page, {"llama_server_n_ctx": 50_000}, lambda: enter(context, "50000"))
    dialog.get_by_text(re.compile("^[0-9,]+ of 50,000 tokens$")).wait_for()
    note = context.get_by_text("was made for")
    assert "of the 50000 of llama_server_n_ctx" in note.inner_text()
    assert note.get_attribute("id") in control(context).get_attribute("aria-describedby")
    dialog.get_by_role("button", name=re.compile("^Largest context of the model")).click()
    assert 256 <= command(dialog)["llama_server_n_ctx"] < 50_000


def test_a_model_is_loaded_and_unloaded_in_the_browser_and_its_settings_are_kept(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "org/stub")
    enter(field(dialog, "replicas"), "2")
    dialog.get_by_text("It can begin: 2 replicas").wait_for()
    enter(field(dialog, "stub_colour"), '"green"')
    dialog.get_by_role("button", name="Load", exact=True).click()
    dialog.wait_for(state="detached")
    row = row_of(page, "org/stub")
    row.get_by_text("2 / 2").wait_for()
    row.get_by_text('stub_colour = "green"').wait_for()
    assert row.get_by_text(re.compile("^0 of [1-9]")).count() == 1
    assert platform.model("org/stub")["load_override"] == {"stub_colour": "green"}

    text = "/stub tokens=1000 tokens_per_s=1"
    _, answer = platform.respond("org/stub", text, background=True)
    row.get_by_text(re.compile("^1 of ")).wait_for()
    page.get_by_role("button", name="Unload: org/stub").click()
    dialog = page.get_by_role("dialog", name="Unload org/stub?")
    dialog.get_by_text("1 running request finishes").wait_for()
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")
    assert platform.model("org/stub")["runtime_state"] == "loaded"
    page.get_by_role("button", name="Unload: org/stub").click()
    dialog.get_by_role("button", name="Unload", exact=True).click()
    row.get_by_text("unloading", exact=True).wait_for()
    assert platform.call("POST", f"/v1/responses/{answer['id']}/cancel")[0] == 200
    row.get_by_text("unloaded", exact=True).wait_for()

    dialog = open_form(page, "org/stub")
    assert command(dialog) == {}
    dialog.get_by_role("button", name=re.compile("settings of the load")).click()
    assert command(dialog) == {"replicas": 2, "stub_colour": "green"}
    dialog.get_by_role("button", name="Load", exact=True).click()
    row.get_by_text("2 / 2").wait_for()
    # nothing waits or runs, and it loads fast: it is not asked about
    page.get_by_role("button", name="Unload: org/stub").click()
    row.get_by_text("unloaded", exact=True).wait_for()


def test_the_speed_of_a_model_is_shown_while_it_answers(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.load("of-stub")
    page = signed_in("/ui/admin/models")
    speed = row_of(page, "of-stub").locator("[data-column=speed] span").first

    def is_shown() -> bool:
        assert platform.respond("of-stub", "/stub tokens=1000")[0] == 200
        return re.fullmatch(r"[1-9][\d,.]*|0\.[1-9]", speed.inner_text()) is not None

    platform.wait_for(is_shown, 60, "speed")
    platform.run_operation("unload", "of-stub")


def test_a_model_to_unload_first_is_in_the_plan_with_what_it_ends(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.load("of-stub")
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "org/stub")
    dialog.get_by_label("Unload another model first").select_option("of-stub")
    assert command(dialog) == {"evictModel": "of-stub"}
    dialog.get_by_text("Unloads of-stub first").wait_for()
    dialog.get_by_text("0 running requests finish, 0 waiting fail").wait_for()
    dialog.get_by_role("button", name="Close").click()

    client, key = platform.redis(), "{stoker}:model:of-stub"
    measured = client.hget(key, "observed_mib")
    client.hset(key, "observed_mib", 2 * GIANT_MIB)  # as if its load had taken so much
    try:
        dialog = open_form(page, "giant")
        dialog.get_by_role("button", name="Unload of-stub first").click()
        dialog.get_by_text("Unloads of-stub first").wait_for()
        assert command(dialog) == {"evictModel": "of-stub"}
        assert dialog.get_by_label("Unload another model first").input_value() == "of-stub"
        assert dialog.get_by_role("button", name="Unload of-stub first").count() == 0
        assert dialog.get_by_role("button", name="Load", exact=True).is_enabled()
    finally:
        client.hset(key, "observed_mib", measured)
    platform.run_operation("unload", "of-stub")


def test_a_failed_model_is_repaired_or_dismissed_and_its_error_is_text(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.run_operation("load", "broken", stub_colour="blue")
    page = signed_in("/ui/admin/models")
    row = row_of(page, "broken")
    row.get_by_text(HOSTILE).wait_for()
    link = row.get_by_role("link", name="Engine log of broken")
    assert link.get_attribute("href").endswith("/admin/model?name=broken#log")
    dialog = open_form(page, "broken", "Repair")
    assert command(dialog) == {"stub_colour": "blue"}
    verdict(dialog).get_by_text("The last load with these settings failed:").wait_for()
    assert HOSTILE in verdict(dialog).inner_text()
    assert verdict(dialog).locator(".text-good").count() == 0, "it may fail again"
    dialog.get_by_text("unknown", exact=True).wait_for()  # the need, whose source is not known either
    before = platform.model("broken")["operation_id"]
    dialog.get_by_role("button", name="Repair", exact=True).click()
    dialog.wait_for(state="detached")
    platform.wait_for(lambda: platform.model("broken")["operation_id"] != before, 10, "another load")
    assert page.locator("main img").count() == 0
    platform.wait_state("broken", "failed")
    page.get_by_role("button", name="Dismiss: broken").click()
    row.get_by_text("unloaded", exact=True).wait_for()
    assert row.get_by_text(HOSTILE).count() == 0
    assert platform.model("broken")["last_error"] is None


def test_a_missing_replica_is_restored_while_the_others_serve(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.run_operation("load", "of-stub", replicas=2)
    page = signed_in("/ui/admin/models")
    row = row_of(page, "of-stub")
    row.get_by_text("2 / 2").wait_for()
    assert page.get_by_role("button", name="Repair: of-stub").count() == 0
    os.kill(platform.engine_pids("of-stub")[0], signal.SIGKILL)
    row.get_by_text("1 / 2").wait_for()
    dialog = open_form(page, "of-stub", "Repair")
    dialog.get_by_text("It can begin: 1 replica on").wait_for()
    assert dialog.locator("[data-field]").count() == 0
    dialog.get_by_role("button", name="Repair", exact=True).click()
    row.get_by_text("2 / 2").wait_for()
    platform.run_operation("unload", "of-stub")


def test_a_plan_is_asked_for_again_when_the_platform_was_away(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/models")
    page.route("**/load/plan", lambda route: route.abort())
    dialog = open_form(page, "of-stub")
    dialog.get_by_text("The platform cannot be reached.").wait_for()
    page.unroute("**/load/plan")
    dialog.get_by_role("button", name="Ask again").click()
    dialog.get_by_text("It can begin: 1 replica on").wait_for()
    assert dialog.get_by_text("The platform cannot be reached.").count() == 0
    assert [problem for problem in problems if "ERR_FAILED" not in problem] == []
    problems.clear()


def test_a_plan_is_not_asked_for_at_each_poll_of_the_page_of_the_model(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in("/ui/admin/model?name=of-stub")
    page.get_by_text("Answer tokens per second").wait_for()
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url) if request.url.endswith("/load/plan") else None
    )
    began = time.monotonic()
    dialog = open_form(page, "of-stub")
    dialog.get_by_text("It can begin: 1 replica on").wait_for()
    for _ in range(3):
        with page.expect_response(lambda answer: answer.url.endswith("/v1/admin/models/of-stub")):
            pass
    assert dialog.get_by_text("It can begin: 1 replica on").is_visible()
    assert len(asked) <= 1 + (time.monotonic() - began) / 8, "the form itself asks again after 8 s"


def test_the_form_works_with_the_keyboard_alone_and_the_focus_returns(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in("/ui/admin/models")
    button = page.get_by_role("button", name="Load: of-exllamav3", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    quant = field(dialog, "exllama_cache_quant")
    control(quant).focus()
    page.keyboard.type("4,4")
    assert command(dialog) == {"exllama_cache_quant": "4,4"}
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert command(dialog) == {"exllama_cache_quant": None}
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert command(dialog) == {}
    assert control(quant).evaluate("control => control === document.activeElement")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Load: of-exllamav3"


def test_the_form_has_no_violation_of_wcag(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/models")
    dialog = open_form(page, "of-vllm")
    null_of(field(dialog, "vllm_speculative_model")).click()
    dialog.locator("[data-worker]").first.wait_for()
    dialog.locator("summary").first.click()
    check_accessible(page)
