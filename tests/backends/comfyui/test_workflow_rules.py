"""Which graphs of requests may run."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from backends.catalogue import BACKENDS
from backends.comfyui.workflow_rules import (
    DEFAULT_NODES,
    MAX_NODES,
    WorkflowLimits,
    WorkflowRefused,
    check_workflow,
    read_size,
)
from config.settings import ROOT
from tests.backends.comfyui.conftest import edit_workflow, workflow

LIMITS = WorkflowLimits.of(BACKENDS["comfyui"].with_defaults({}))


def with_node(kind: str, **inputs: Any) -> dict[str, Any]:
    return {**workflow(), "99": {"class_type": kind, "inputs": inputs}}


def test_the_default_limits_allow_a_usual_workflow() -> None:
    check_workflow(workflow(), (), LIMITS)
    graph = edit_workflow()
    graph["4"]["inputs"]["image"] = "cat.png"
    check_workflow(graph, ("cat.png",), LIMITS)


def test_the_list_of_the_configuration_replaces_the_default_one() -> None:
    options = BACKENDS["comfyui"].with_defaults({"comfyui_workflow_nodes": ("SaveImage",)})
    assert WorkflowLimits.of(options).nodes == {"SaveImage"}
    none = WorkflowLimits.of(BACKENDS["comfyui"].with_defaults({"comfyui_workflow_nodes": ()}))
    with pytest.raises(WorkflowRefused, match="runs no workflows"):
        check_workflow(workflow(), (), none)


def test_the_documentation_lists_the_default_nodes() -> None:
    page = (ROOT / "docs" / "media.md").read_text()
    begin = page.index("The list for `null`:")
    listed = page[begin : page.index("It leaves out", begin)]
    assert set(listed.split("`")[3::2]) == DEFAULT_NODES


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ({}, "an object with its nodes"),
        ([], "an object with its nodes"),
        ({"1": 3}, "node 1: has no class_type"),
        ({"1": {"class_type": "KSampler"}}, "node 1: has no inputs"),
        ({"../1": {"class_type": "KSampler", "inputs": {}}}, "the id of a node"),
        (
            with_node("LoadLatent", latent="x"),
            "node 99: this model does not allow nodes of the class 'LoadLatent'",
        ),
        (with_node("X" * 1000), "'X{64}\\.\\.\\.'"),
        (
            with_node("LoadImage", image="cat.png"),
            "input image is not the name of one of the request's files",
        ),
        (with_node("LoadImage", image="/etc/passwd"), "input image is not the name"),
        (with_node("LoadImage", image="mine.png [output]"), "input image is not the name"),
        (with_node("LoadImage", image={"__value__": "../x"}), "input image is not the name"),
        (with_node("LoadImage", image=["mine.png"]), "input image is not the name"),
        (with_node("EmptyLatentImage", width=16384), "input width must be an integer from 1 to 2048"),
        (with_node("EmptyLatentImage", width="64"), "input width must be an integer"),
        (with_node("EmptyLatentImage", batch_size=5), "input batch_size must be an integer from 1 to 4"),
        (with_node("EmptyLatentImage", batch_size={"__value__": 50}), "input batch_size must be an integer"),
        (with_node("ImageScale", width=0, height=2048), "input width must be an integer from 1 to 2048"),
        (with_node("CLIPTextEncode", text=["9", 1.5]), "neither a value nor a link"),
        (with_node("CLIPTextEncode", text={"__value__": ["77", 0]}), "neither a value nor a link"),
        (workflow(steps=201), "input steps must be an integer from 1 to 200"),
        (workflow(steps=True), "input steps must be an integer"),
        (workflow(steps=1e400), "not valid JSON"),
        (with_node("KSampler", model=["77", 0]), "node 99: is linked to a node '77', which does not exist"),
        (with_node("KSampler", model=["99", 0]), "node 99: its links lead back to it"),
        (with_node("CLIPTextEncode", text="x" * (1 << 20)), "at most 1048576 bytes"),
        (with_node("CLIPTextEncode", **{"a/b": 1}), "an input has a name that no node has"),
        (with_node("CLIPTextEncode", text=[[[[[[[[[[1]]]]]]]]]]), "input text has too many levels"),
        (
            {str(at): {"class_type": "SaveImage", "inputs": {}} for at in range(17)},
            "at most 16 nodes that save",
        ),
        (
            {str(at): {"class_type": "KSampler", "inputs": {}} for at in range(17)},
            "at most 16 nodes that sample",
        ),
        ({str(at): {} for at in range(MAX_NODES + 1)}, "at most 500 nodes, not 501"),
    ],
)
def test_a_workflow_is_refused_with_the_reason(graph: Any, reason: str) -> None:
    with pytest.raises(WorkflowRefused, match=reason):
        check_workflow(graph, ("mine.png",), LIMITS)


def test_a_long_chain_of_nodes_is_checked_without_recursion() -> None:
    graph: dict[str, Any] = {"0": {"class_type": "ImageInvert", "inputs": {}}}
    for at in range(1, MAX_NODES):
        graph[str(at)] = {"class_type": "ImageInvert", "inputs": {"image": [str(at - 1), 0]}}
    check_workflow(graph, (), LIMITS)


def test_a_size_is_read() -> None:
    assert read_size("1024x768") == (1024, 768)
    for text in ("1024", "0x64", "64x064", "64X64", "999999x64", "64x64 "):
        with pytest.raises(ValueError, match="is no size"):
            read_size(text)


def test_the_rules_import_nothing_that_only_workers_have() -> None:
    code = "import sys, backends.comfyui.workflow_rules; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert {"backends.base", "http_client", "engines"}.isdisjoint(loaded.stdout.split())
