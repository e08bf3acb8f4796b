"""The state of a model in the words of llama-server's router. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleet.operation import Operation
from fleet.states import ModelState

UNLOADED, LOADING, LOADED, DOWNLOADING = "unloaded", "loading", "loaded", "downloading"
VALUES = (UNLOADED, LOADING, LOADED, DOWNLOADING)
MIB = 1024 * 1024
EXIT_CODE = 1
"""Of a model that has failed: llama-server's is that of its process, which may be on another host here."""

STAGE = "text_model"
"""The only one of llama-server's stages of a load that operations tell apart."""

_VALUES: Mapping[ModelState, str] = {
    ModelState.UNLOADED: UNLOADED,
    ModelState.FAILED: UNLOADED,
    ModelState.LOADING: LOADING,
    ModelState.LOADED: LOADED,
    ModelState.UNLOADING: LOADED,  # as in llama-server, until the engines have ended
}


def value_of(state: ModelState) -> str:
    """The router's word for a state."""
    return _VALUES[state]


def is_running(state: ModelState) -> bool:
    """Whether the model is not to be loaded, but to be unloaded."""
    return value_of(state) != UNLOADED


def model_status(state: ModelState, args: Sequence[str], operation: Operation | None) -> dict[str, Any]:
    """The member `status` of a model; `operation` is the one under way, if the caller may see it."""
    status: dict[str, Any] = {
        "value": value_of(state),
        "args": list(args),
        "failed": state is ModelState.FAILED,
    }
    if status["failed"]:
        status["exit_code"] = EXIT_CODE
    if operation is None:
        return status
    if operation.kind == "download" and state is ModelState.UNLOADED:
        return status | {"value": DOWNLOADING, "progress": download_progress(operation)}
    if operation.kind == "load" and state is ModelState.LOADING:
        return status | {"progress": load_progress(operation)}
    return status


def load_progress(operation: Operation) -> dict[str, Any]:
    """How far a load is."""
    return {"stages": [STAGE], "current": STAGE, "value": round(operation.progress, 3)}


def download_progress(operation: Operation) -> dict[str, Any]:
    """How far a download is: the bytes of its files that are there, under the address of the first one."""
    total = (operation.files_mib or 0) * MIB
    address = (operation.source or operation.model).partition(" ")[0]
    return {address: {"done": int(total * operation.progress), "total": total}}
