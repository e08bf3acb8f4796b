"""The schemas of tools as MCP servers, zod and pydantic write them, on real engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from config.settings import ModelDefinition
from generation.generation import Tool
from tests.backends.conftest import DEMO_MODEL, Launched, Launcher, ask
from tests.support.tool_schemas import tool_schemas

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]

SCHEMAS = list(tool_schemas())
TOGETHER = 20
MODELS = {
    "llama_server": {"llama_server_n_ctx": 16384, "llama_server_threads": 1},
    "llama_cpp": {"gguf_n_ctx": 16384, "gguf_threads": 1},
}


@pytest.fixture(scope="module", params=MODELS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    options = MODELS[request.param]
    launcher = Launcher(tmp_path_factory.mktemp("corpus"))
    yield launcher(
        ModelDefinition(
            "model",
            request.param,
            model_path=str(DEMO_MODEL),
            prompt_format="qwen3_template",
            options=options,
        ),
        1,
    )
    launcher.stop_all()


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_an_engine_answers_whatever_the_schemas_of_the_tools_are(engine: Launched, choice: str) -> None:
    for start in range(0, len(SCHEMAS), TOGETHER):
        tools = tuple(
            Tool(f"f{at}", None, schema) for at, (_, schema) in enumerate(SCHEMAS[start : start + TOGETHER])
        )
        answer = engine.answer(ask("Hi", max_tokens=2, tools=tools, tool_choice=choice), f"{choice}-{start}")
        assert answer.finish, f"the schemas of {[name for name, _ in SCHEMAS[start : start + TOGETHER]]}"
