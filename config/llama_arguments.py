"""The arguments of llama-server, as a presets file names them, and what Stoker does with each.

The names are those of llama.cpp's `tools/server/README.md`: long and short forms without their dashes, and
the variables `LLAMA_ARG_*`. `config.presets` translates those of `TAKEN`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TAKEN: Mapping[str, str] = {
    "model": "m LLAMA_ARG_MODEL",
    "hf-repo": "hf hfr LLAMA_ARG_HF_REPO",
    "hf-file": "hff LLAMA_ARG_HF_FILE LLAMA_ARG_HF_REPO_FILE",
    "mmproj": "mm LLAMA_ARG_MMPROJ",
    "mmproj-auto": "LLAMA_ARG_MMPROJ_AUTO",
    "model-draft": "md spec-draft-model LLAMA_ARG_SPEC_DRAFT_MODEL LLAMA_ARG_MODEL_DRAFT",
    "lora": "",
    "lora-init-without-apply": "",
    "ctx-size": "c LLAMA_ARG_CTX_SIZE",
    "parallel": "np LLAMA_ARG_N_PARALLEL",
    "n-gpu-layers": "ngl gpu-layers LLAMA_ARG_N_GPU_LAYERS",
    "device": "dev LLAMA_ARG_DEVICE",
    "threads": "t LLAMA_ARG_THREADS",
    "batch-size": "b LLAMA_ARG_BATCH",
    "flash-attn": "fa LLAMA_ARG_FLASH_ATTN",
    "cache-type-k": "ctk LLAMA_ARG_CACHE_TYPE_K",
    "cache-type-v": "ctv LLAMA_ARG_CACHE_TYPE_V",
    "cache-prompt": "LLAMA_ARG_CACHE_PROMPT",
    "ctx-checkpoints": "ctxcp swa-checkpoints LLAMA_ARG_CTX_CHECKPOINTS",
    "chat-template-kwargs": "LLAMA_ARG_CHAT_TEMPLATE_KWARGS LLAMA_CHAT_TEMPLATE_KWARGS",
    "reasoning": "rea LLAMA_ARG_REASONING",
    "pooling": "LLAMA_ARG_POOLING",
    "embeddings": "embedding LLAMA_ARG_EMBEDDINGS",
    "reranking": "rerank LLAMA_ARG_RERANKING",
    "image-max-tokens": "LLAMA_ARG_IMAGE_MAX_TOKENS",
    "spec-type": "LLAMA_ARG_SPEC_TYPE",
    "spec-draft-n-max": "LLAMA_ARG_SPEC_DRAFT_N_MAX",
    "spec-draft-p-min": "draft-p-min LLAMA_ARG_SPEC_DRAFT_P_MIN",
    "load-on-startup": "",
    "stop-timeout": "",
    "sleep-idle-seconds": "",
    "models-autoload": "LLAMA_ARG_MODELS_AUTOLOAD",
}
"""The arguments that a model's configuration takes: the name, and its other spellings."""

NEGATED: Mapping[str, str] = {
    "no-mmproj": "mmproj-auto",
    "no-mmproj-auto": "mmproj-auto",
    "no-cache-prompt": "cache-prompt",
    "no-models-autoload": "models-autoload",
}
"""Names of flags that mean the opposite of an argument of `TAKEN`."""

NATIVE = (
    "has no setting here; a model of settings.json that names a native llama-server takes it in"
    " llama_server_extra_args"
)

REFUSED: Mapping[str, str] = {
    "has no default for a model here: requests set it": """
        predict n n-predict LLAMA_ARG_N_PREDICT samplers seed s sampler-seq sampling-seq ignore-eos
        temp temperature LLAMA_ARG_TEMPERATURE top-k LLAMA_ARG_TOP_K top-p LLAMA_ARG_TOP_P
        min-p LLAMA_ARG_MIN_P top-nsigma top-n-sigma xtc-probability xtc-threshold typical typical-p
        repeat-last-n repeat-penalty LLAMA_ARG_REPEAT_PENALTY presence-penalty LLAMA_ARG_PRESENCE_PENALTY
        frequency-penalty LLAMA_ARG_FREQUENCY_PENALTY dry-multiplier dry-base dry-allowed-length
        dry-penalty-last-n dry-sequence-breaker adaptive-target adaptive-decay dynatemp-range dynatemp-exp
        mirostat mirostat-lr mirostat-ent logit-bias l grammar grammar-file json-schema j
        json-schema-file jf keep reverse-prompt r reasoning-format LLAMA_ARG_THINK
        reasoning-budget LLAMA_ARG_THINK_BUDGET reasoning-budget-message LLAMA_ARG_THINK_BUDGET_MESSAGE
        reasoning-effort LLAMA_ARG_REASONING_EFFORT prefill-assistant no-prefill-assistant
        LLAMA_ARG_PREFILL_ASSISTANT skip-chat-parsing no-skip-chat-parsing LLAMA_ARG_SKIP_CHAT_PARSING
        embd-normalize special sp spm-infill
    """,
    "has no setting here: the chat template is the one in the model's file (chat-template-kwargs sets its"
    " arguments)": """
        chat-template LLAMA_ARG_CHAT_TEMPLATE chat-template-file LLAMA_ARG_CHAT_TEMPLATE_FILE
        no-jinja reasoning-preserve no-reasoning-preserve LLAMA_ARG_REASONING_PRESERVE
    """,
    "is not taken: a model here has one name, that of its section": "alias a LLAMA_ARG_ALIAS",
    "is not taken: name the model's file (model), or its repository (hf-repo, with hf-file)": """
        model-url mu LLAMA_ARG_MODEL_URL docker-repo dr LLAMA_ARG_DOCKER_REPO mmproj-url mmu
        LLAMA_ARG_MMPROJ_URL hf-repo-draft hfd hfrd spec-draft-hf LLAMA_ARG_SPEC_DRAFT_HF_REPO
        hf-repo-v hf-file-v embd-gemma-default fim-qwen-1.5b-default fim-qwen-3b-default
        fim-qwen-7b-default fim-qwen-7b-spec fim-qwen-14b-spec fim-qwen-30b-default gpt-oss-20b-default
        gpt-oss-120b-default vision-gemma-4b-default vision-gemma-12b-default
    """,
    "is not taken: set the variable HF_TOKEN of the workers": "hf-token hft HF_TOKEN",
    "is not taken: it would give requests files, programs or addresses of the host": """
        tools LLAMA_ARG_TOOLS tools-runtime LLAMA_ARG_TOOLS_RUNTIME mcp-servers-config
        LLAMA_ARG_MCP_SERVERS_CONFIG mcp-servers-json LLAMA_ARG_MCP_SERVERS_JSON agent ag no-ag no-agent
        LLAMA_ARG_AGENT media-path path LLAMA_ARG_STATIC_PATH slot-save-path LLAMA_ARG_SLOT_SAVE_PATH
        rpc LLAMA_ARG_RPC log-file LLAMA_ARG_LOG_FILE log-prompts-dir ui-mcp-proxy webui-mcp-proxy
        no-ui-mcp-proxy no-webui-mcp-proxy LLAMA_ARG_UI_MCP_PROXY video-ffmpeg-dir LLAMA_ARG_VIDEO_FFMPEG_DIR
    """,
    "is not taken: its drafts would depend on the texts of other tenants": """
        lookup-cache-static lcs lookup-cache-dynamic lcd spec-default
        spec-ngram-mod-n-min spec-ngram-mod-n-max spec-ngram-mod-n-match
    """,
    "is not taken: a worker has one GPU, and the platform chooses the worker": """
        split-mode sm LLAMA_ARG_SPLIT_MODE tensor-split ts LLAMA_ARG_TENSOR_SPLIT main-gpu mg
        LLAMA_ARG_MAIN_GPU
    """,
    "has been removed from llama-server": """
        draft draft-n draft-max LLAMA_ARG_DRAFT_MAX draft-min draft-n-min LLAMA_ARG_DRAFT_MIN
        spec-ngram-size-n spec-ngram-size-m spec-ngram-min-hits defrag-thold dt LLAMA_ARG_DEFRAG_THOLD
    """,
    NATIVE: """
        threads-batch tb cpu-mask C cpu-range Cr cpu-strict prio poll cpu-mask-batch Cb cpu-range-batch
        Crb cpu-strict-batch prio-batch poll-batch ubatch-size ub LLAMA_ARG_UBATCH swa-full
        LLAMA_ARG_SWA_FULL rope-scaling LLAMA_ARG_ROPE_SCALING_TYPE rope-scale LLAMA_ARG_ROPE_SCALE
        rope-freq-base LLAMA_ARG_ROPE_FREQ_BASE rope-freq-scale LLAMA_ARG_ROPE_FREQ_SCALE yarn-orig-ctx
        LLAMA_ARG_YARN_ORIG_CTX yarn-ext-factor LLAMA_ARG_YARN_EXT_FACTOR yarn-attn-factor
        LLAMA_ARG_YARN_ATTN_FACTOR yarn-beta-slow LLAMA_ARG_YARN_BETA_SLOW yarn-beta-fast
        LLAMA_ARG_YARN_BETA_FAST kv-offload kvo no-kv-offload nkvo LLAMA_ARG_KV_OFFLOAD repack no-repack nr
        LLAMA_ARG_REPACK no-host LLAMA_ARG_NO_HOST numa LLAMA_ARG_NUMA override-tensor ot
        LLAMA_ARG_OVERRIDE_TENSOR cpu-moe cmoe LLAMA_ARG_CPU_MOE n-cpu-moe ncmoe LLAMA_ARG_N_CPU_MOE
        moe-cache-mib LLAMA_ARG_MOE_CACHE_MIB n-cpu-ffn ncffn LLAMA_ARG_N_CPU_FFN check-tensors override-kv
        op-offload no-op-offload lora-scaled control-vector control-vector-scaled control-vector-layer-range
        spec-draft-type-k ctkd cache-type-k-draft LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K spec-draft-type-v ctvd
        cache-type-v-draft LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V spec-draft-threads td threads-draft
        spec-draft-threads-batch tbd threads-batch-draft spec-draft-cpu-mask Cd cpu-mask-draft
        spec-draft-cpu-range Crd cpu-range-draft spec-draft-cpu-strict cpu-strict-draft spec-draft-prio
        prio-draft spec-draft-poll poll-draft spec-draft-cpu-mask-batch Cbd cpu-mask-batch-draft
        spec-draft-cpu-strict-batch cpu-strict-batch-draft spec-draft-prio-batch prio-batch-draft
        spec-draft-poll-batch poll-batch-draft spec-draft-override-tensor otd override-tensor-draft
        spec-draft-cpu-moe cmoed cpu-moe-draft LLAMA_ARG_SPEC_DRAFT_CPU_MOE spec-draft-n-cpu-moe
        spec-draft-ncmoe ncmoed n-cpu-moe-draft LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE spec-draft-n-min
        LLAMA_ARG_SPEC_DRAFT_N_MIN spec-synth-len LLAMA_ARG_SPEC_SYNTH_LEN spec-synth-rates
        LLAMA_ARG_SPEC_SYNTH_RATES spec-draft-p-split draft-p-split LLAMA_ARG_SPEC_DRAFT_P_SPLIT
        spec-draft-backend-sampling no-spec-draft-backend-sampling LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING
        spec-draft-sampling LLAMA_ARG_SPEC_DRAFT_SAMPLING spec-draft-device devd device-draft spec-draft-ngl
        ngld gpu-layers-draft n-gpu-layers-draft LLAMA_ARG_N_GPU_LAYERS_DRAFT spec-ngram-simple-size-n
        spec-ngram-simple-size-m spec-ngram-simple-min-hits spec-ngram-map-k-size-n spec-ngram-map-k-size-m
        spec-ngram-map-k-min-hits spec-ngram-map-k4v-size-n spec-ngram-map-k4v-size-m
        spec-ngram-map-k4v-min-hits backend-sampling bs LLAMA_ARG_BACKEND_SAMPLING kv-unified-per-slot
        LLAMA_ARG_KV_UNIFIED_PER_SLOT kv-unified kvu no-kv-unified no-kvu LLAMA_ARG_KV_UNIFIED
        context-shift no-context-shift LLAMA_ARG_CONTEXT_SHIFT checkpoint-min-step cms
        LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT mmproj-offload no-mmproj-offload LLAMA_ARG_MMPROJ_OFFLOAD
        mmproj-device mmdev MTMD_BACKEND_DEVICE image-min-tokens LLAMA_ARG_IMAGE_MIN_TOKENS
        mtmd-batch-max-tokens LLAMA_ARG_MTMD_BATCH_MAX_TOKENS video-fps LLAMA_ARG_VIDEO_FPS
        video-timestamp-interval LLAMA_ARG_VIDEO_TIMESTAMP_INTERVAL cache-reuse LLAMA_ARG_CACHE_REUSE
        slot-prompt-similarity sps escape e no-escape
    """,
}
"""Why an argument is not taken (completes "ctx-size ..."), and the spellings of the arguments."""

WITHOUT_EFFECT: Mapping[str, str] = {
    "the platform has settings of its own for it": """
        host LLAMA_ARG_HOST port LLAMA_ARG_PORT reuse-port LLAMA_ARG_REUSE_PORT api-key LLAMA_API_KEY
        api-key-file LLAMA_ARG_API_KEY_FILE ssl-key-file LLAMA_ARG_SSL_KEY_FILE ssl-cert-file
        LLAMA_ARG_SSL_CERT_FILE api-prefix LLAMA_ARG_API_PREFIX cors-origins LLAMA_ARG_CORS_ORIGINS
        cors-methods LLAMA_ARG_CORS_METHODS cors-headers LLAMA_ARG_CORS_HEADERS cors-credentials
        no-cors-credentials LLAMA_ARG_CORS_CREDENTIALS timeout to LLAMA_ARG_TIMEOUT sse-ping-interval
        LLAMA_ARG_SSE_PING_INTERVAL threads-http LLAMA_ARG_THREADS_HTTP models-dir LLAMA_ARG_MODELS_DIR
        models-preset LLAMA_ARG_MODELS_PRESET models-max LLAMA_ARG_MODELS_MAX ui webui no-ui no-webui
        LLAMA_ARG_UI ui-config webui-config LLAMA_ARG_UI_CONFIG ui-config-file webui-config-file
        LLAMA_ARG_UI_CONFIG_FILE offline LLAMA_ARG_OFFLINE log-disable log-jsonl no-log-jsonl
        LLAMA_ARG_LOG_JSONL log-colors LLAMA_ARG_LOG_COLORS verbose v log-verbose verbosity lv log-verbosity
        LLAMA_ARG_LOG_VERBOSITY log-prefix no-log-prefix LLAMA_ARG_LOG_PREFIX log-timestamps
        no-log-timestamps LLAMA_ARG_LOG_TIMESTAMPS
    """,
    "the platform decides it": """
        jinja LLAMA_ARG_JINJA cont-batching cb no-cont-batching nocb LLAMA_ARG_CONT_BATCHING warmup
        no-warmup perf no-perf LLAMA_ARG_PERF metrics LLAMA_ARG_ENDPOINT_METRICS props
        LLAMA_ARG_ENDPOINT_PROPS slots no-slots LLAMA_ARG_ENDPOINT_SLOTS load-mode lm LLAMA_ARG_LOAD_MODE
        lazy-mode lzm LLAMA_ARG_LAZY_MODE mlock mmap no-mmap direct-io no-direct-io cache-ram cram
        LLAMA_ARG_CACHE_RAM cache-idle-slots no-cache-idle-slots LLAMA_ARG_CACHE_IDLE_SLOTS fit
        LLAMA_ARG_FIT fit-target fitt LLAMA_ARG_FIT_TARGET fit-ctx fitc LLAMA_ARG_FIT_CTX
    """,
    "the platform lists no model twice": "dedup-cache-models",
    "the platform keeps no tags": "tags LLAMA_ARG_TAGS",
}
"""Why an argument changes nothing, and the spellings of the arguments."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a key of a presets file names.

    `name` is the argument's name in `TAKEN`, or the key itself; `is_negated`: the key means its opposite.
    `refusal` or `ignored` is the reason why the platform does not take it.
    """

    name: str
    is_negated: bool = False
    refusal: str | None = None
    ignored: str | None = None


def _arguments() -> Iterator[tuple[str, Argument]]:
    for reason, keys in REFUSED.items():
        yield from ((key, Argument(key, refusal=reason)) for key in keys.split())
    for reason, keys in WITHOUT_EFFECT.items():
        yield from ((key, Argument(key, ignored=reason)) for key in keys.split())
    for name, keys in TAKEN.items():
        yield from ((key, Argument(name)) for key in (name, *keys.split()))
    for key, name in NEGATED.items():
        yield key, Argument(name, is_negated=True)


ARGUMENTS: Mapping[str, Argument] = dict(_arguments())
"""Every argument, by each of its spellings."""
