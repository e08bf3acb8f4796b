"""ComfyUI as a managed server, on the loopback interface and with a random key.

It runs beside this program under the Python of its checkout, and is loaded once its templates have run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from typing import Any

from backends.base import EngineFacts, GenerationError, Launch, LoadError
from backends.comfyui.api import ComfyApi
from backends.comfyui.arguments import KEY_VARIABLE, PREFIX, ComfyOptions, Folders
from backends.comfyui.comfy_engine import ComfyEngine
from backends.comfyui.prompt_run import PromptRun
from backends.comfyui.trial import try_each_template
from backends.shared.diagnosis import Diagnoses, diagnosing
from backends.shared.http_engine import ServerClient
from backends.shared.media_files import NO_FILES
from backends.shared.server_address import server_address
from backends.shared.start import EngineStart, starting
from config.settings import ModelDefinition
from engines.engine_process.errors import EngineError
from engines.engine_process.process import REQUEST_FILES, EngineProcess
from http_client.client import LOOPBACK, HttpError

TICK_S = 0.1
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}

DIAGNOSES: Diagnoses = (
    (
        r"ModuleNotFoundError: No module named '([\w.]{1,60})'\s*$",
        "comfyui_python has no package {0}: install what ComfyUI needs with"
        " `pip install -r requirements.txt` of its checkout",
    ),
    (
        r"unrecognized arguments: (.{1,100})",
        "this ComfyUI does not know the arguments {0}: correct comfyui_extra_args, or update ComfyUI",
    ),
    (
        r"Torch not compiled with CUDA|Found no NVIDIA driver",
        "the PyTorch of comfyui_python does not find the GPU: install a build for CUDA, or add --cpu to"
        " comfyui_extra_args",
    ),
)


class ComfyAdapter:
    """Fulfils `Adapter`."""

    name = "comfyui"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:  # noqa: ARG002
        """Check the options, the checkout and the workflows. Raises `LoadError`."""
        ComfyOptions.of(model)

    def start(self, launch: Launch) -> ComfyEngine:
        """Start ComfyUI and run each template once."""
        with starting(launch) as start:
            options = ComfyOptions.of(launch.model)
            if launch.files is None:
                raise LoadError("load_failed", NO_FILES)
            folders = Folders(launch.directory / REQUEST_FILES)
            folders.prepare(options.checkpoints, options.checkpoint)
            start.progress(0.02, "starting ComfyUI")
            with diagnosing(launch.directory, DIAGNOSES):
                process, client = _start_server(start, options, folders)
            api = ComfyApi(client)
            try:
                version = _verify(start, process, client)
                api.has_jobs = client.get("/api/jobs")[0] == 200
                engine = ComfyEngine(
                    process, api, options, folders, launch.files, launch.model.load_timeout_s
                )
                engine.facts = EngineFacts(version)
                runs: list[PromptRun] = []
                trial = try_each_template(api, options, folders, lambda: process.exit is None, runs)
                _wait_for(start, process, trial, runs)
            except HttpError as error:
                client.close()
                raise start.failed(process) from error
            except BaseException:
                client.close()
                raise
            return engine


def _start_server(
    start: EngineStart, options: ComfyOptions, folders: Folders
) -> tuple[EngineProcess, ServerClient]:
    """Start a server and wait until it answers."""
    address = server_address(PREFIX, LOOPBACK, None, None)
    client = ServerClient(address)
    argv = options.argv(folders, address.host, address.port)
    process = start.run(argv, {**OFFLINE, KEY_VARIABLE: client.key})
    while not _answers(client):
        process.wait(TICK_S)
        start.check()
    return process, client


def _answers(client: ServerClient) -> bool:
    try:
        return client.get("/system_stats")[0] is not None
    except HttpError:
        return False


def _verify(start: EngineStart, process: EngineProcess, client: ServerClient) -> str | None:
    """Check that the server is the one just started and requires the key. Returns its version."""
    start.progress(0.3, "checking ComfyUI")
    try:
        unauthorized, _ = client.get("/system_stats", with_key=False)
        status, found = client.get("/system_stats")
        version: Any = found["system"].get("comfyui_version")
    except HttpError as error:
        raise start.failed(process) from error
    except (LookupError, TypeError, AttributeError) as error:
        raise LoadError("load_failed", "another server answers on the engine's port") from error
    if unauthorized != 401 or status != 200:
        raise LoadError("load_failed", "ComfyUI does not require its key: its log says why the node failed")
    return version if isinstance(version, str) else None


def _wait_for(
    start: EngineStart, process: EngineProcess, trial: Coroutine[Any, Any, None], runs: list[PromptRun]
) -> None:
    """Run the trial on the event loop, and report progress meanwhile. Raises `LoadError`."""
    future: Future[None] = asyncio.run_coroutine_threadsafe(trial, start.launch.loop)
    try:
        while True:
            if runs:
                steps = sum(run.steps for run in runs) / max(1, sum(run.all_steps for run in runs))
                start.progress(0.4 + 0.5 * steps, "making a first image")
            try:
                return future.result(TICK_S)
            except NotYet:
                start.check()
    except HttpError as error:
        raise start.failed(process) from error
    except CancelledError as error:
        raise start.failed(process) from error
    except GenerationError as error:
        sentence = f"the first image failed: {error}; correct comfyui_workflow or its binding"
        raise LoadError("load_failed", sentence) from error
    except EngineError as error:
        raise start.failed(process) from error
    finally:
        future.cancel()


ADAPTER = ComfyAdapter()
