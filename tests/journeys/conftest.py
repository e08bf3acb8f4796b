"""The models of most journeys, with the stub backend."""

from __future__ import annotations

STUBS = {
    "stub": {
        "backend": "stub",
        "enabled": True,
        "target_inflight": 8,
        "stub_image_input": True,
        "stub_lora": {"pirate": "models/demo"},
    },
    "slow": {
        "backend": "stub",
        "enabled": True,
        "target_inflight": 2,
        "stub_tokens_per_s": 20,
        "stub_tokens": 200,
    },
    "later": {"backend": "stub", "target_inflight": 4, "replica_max": 2, "stub_load_s": 1.6},
    "scribe": {"backend": "stub", "enabled": True, "target_inflight": 2, "stub_media": "transcript"},
    "voice": {"backend": "stub", "enabled": True, "target_inflight": 2, "stub_media": "speech"},
    "listener": {"backend": "stub", "enabled": True, "target_inflight": 2, "stub_audio_input": True},
    "mute": {"backend": "stub", "stub_media": "transcript"},
    "lone_scribe": {"backend": "stub", "target_inflight": 1, "stub_media": "transcript"},
    "painter": {"backend": "stub", "enabled": True, "target_inflight": 2, "stub_media": "image"},
    "lone_painter": {"backend": "stub", "target_inflight": 1, "stub_media": "image"},
    "broken": {"backend": "stub", "stub_load_fail": "no such weights"},
    "gguf": {
        "backend": "llama_cpp",
        "model_path": "models/stoker-demo.gguf",
        "prompt_format": "gemma4_template",
    },
}
ON_THE_CPU = {"CUDA_VISIBLE_DEVICES": ""}
