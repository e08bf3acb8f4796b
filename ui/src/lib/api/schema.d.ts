// Made by `make ui` from `stoker openapi`: not edited by hand.

export interface paths {
    "/api/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/embed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_ollama_vectors"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_ollama_vector"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/generate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_text"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_loaded"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/show": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["show_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_tags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["ollama_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apply-template": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["apply_template"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/completion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_native_completion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/cors-proxy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_by_proxy"];
        put?: never;
        post: operations["post_by_proxy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/detokenize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["detokenize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/embedding": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_embedding"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_own_embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["check_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/infill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_infill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["check_liveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/lora-adapters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_lora_adapters"];
        put?: never;
        post: operations["scale_lora_adapters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_router_models"];
        put?: never;
        post: operations["download_router_model"];
        delete: operations["remove_router_model"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/models/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["load_router_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/models/sse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["follow_router_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/models/unload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["unload_router_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/props": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_properties"];
        put?: never;
        post: operations["change_properties"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["check_readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rerank": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_rerank_at_root"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/slots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_slots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/slots/{slot}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slot: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["act_on_state"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokenize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["tokenize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_tools"];
        put?: never;
        post: operations["call_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/account": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_account"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/account/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_own_keys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/account/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_own_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/account/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["end_own_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/account/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_own_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_alerts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/alerts/{name}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["acknowledge_alert"];
        delete: operations["end_acknowledgement"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/cache/flush": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["flush_cache"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/cache/flush/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["plan_cache_flush"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["follow_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/gpu-memory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_gpu_memory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/hub/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_hub_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/hub/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["search_hub_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_keys"];
        put?: never;
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_key"];
        put?: never;
        post?: never;
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch: operations["change_key"];
        trace?: never;
    };
    "/v1/admin/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_tenant_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/metrics/recent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_recent_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_admin_models"];
        put?: never;
        post: operations["add_admin_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["plan_admin_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_admin_model"];
        put?: never;
        post?: never;
        delete: operations["remove_admin_model"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models/{name}/load": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["load_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models/{name}/load/plan": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["plan_admin_load"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models/{name}/log": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["read_engine_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models/{name}/unload": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["unload_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/models/{name}/unload/plan": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["plan_admin_unload"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_operations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/operations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_operation"];
        put?: never;
        post?: never;
        delete: operations["cancel_operation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_queues"];
        put?: never;
        post?: never;
        delete: operations["cancel_tenants_requests"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/queue/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["cancel_request"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_requests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/requests/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_request"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/requests/{id}/texts": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_request_texts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["end_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_tenants"];
        put?: never;
        post: operations["add_tenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_tenant"];
        put?: never;
        post?: never;
        delete: operations["remove_tenant"];
        options?: never;
        head?: never;
        patch: operations["change_tenant"];
        trace?: never;
    };
    "/v1/admin/tenants/{name}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_tenant_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{name}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["show_tenant_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_webhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["test_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/workers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_worker"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/workers/{name}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["drain_worker"];
        delete: operations["end_drain"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audio/speech": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_speech"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audio/transcriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_transcription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audio/translations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_translation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/batches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_batches"];
        put?: never;
        post: operations["create_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/batches/{batch_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_batch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/batches/{batch_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancel_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cache/flush": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["flush_cache_governed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cache/flush/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_flush_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["describe_capabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_chat_completion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions/control": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["control_completion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions/input_tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["count_chat_input_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comfyui/prompts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["run_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comfyui/prompts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_workflow"];
        put?: never;
        post?: never;
        delete: operations["delete_workflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_completion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_conversations"];
        put?: never;
        post: operations["create_conversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{conversation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_conversation"];
        put?: never;
        post: operations["update_conversation"];
        delete: operations["delete_conversation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{conversation_id}/items": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
            };
            cookie?: never;
        };
        get: operations["list_conversation_items"];
        put?: never;
        post: operations["create_conversation_items"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{conversation_id}/items/{item_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
                item_id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_conversation_item"];
        put?: never;
        post?: never;
        delete: operations["delete_conversation_item"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_files"];
        put?: never;
        post: operations["upload_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                file_id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_file"];
        put?: never;
        post?: never;
        delete: operations["delete_file"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/{file_id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                file_id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_file_content"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/governance/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_audit_records"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/governance/audit/head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_audit_head"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/governance/proposals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_proposals"];
        put?: never;
        post: operations["create_proposal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/governance/proposals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_proposal"];
        put?: never;
        post?: never;
        delete: operations["withdraw_proposal"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/governance/proposals/{id}/comparison": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["compare_proposal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/governance/proposals/{id}/signatures": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sign_proposal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/governance/receipts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_receipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["check_health_as_llama_server"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/edits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["edit_image"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_image"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/media/{id}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_media"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/batches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_message_batches"];
        put?: never;
        post: operations["create_message_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/batches/{batch_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_message_batch"];
        put?: never;
        post?: never;
        delete: operations["delete_message_batch"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/batches/{batch_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancel_message_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/batches/{batch_id}/results": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_message_batch_results"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/count_tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["count_message_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["load_model_governed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/load/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["plan_load_governed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/load/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_load_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/unload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["unload_model_governed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/unload/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_unload_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_model"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/props": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_properties_v1"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queue/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_queue_place"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rerank": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_rerank"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_running"];
        put?: never;
        post: operations["create_response"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["compact_conversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/input_tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["count_input_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["retrieve_response"];
        put?: never;
        post?: never;
        delete: operations["delete_response"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancel_response"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/detach": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["detach_request"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/input_items": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get: operations["list_input_items"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["show_session"];
        put?: never;
        post: operations["sign_in"];
        delete: operations["sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_sign_in_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["begin_oidc_sign_in"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_stream_by_query"];
        put?: never;
        post?: never;
        delete: operations["end_stream_by_query"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream/{conv_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conv_id: string;
            };
            cookie?: never;
        };
        get: operations["read_stream"];
        put?: never;
        post?: never;
        delete: operations["end_stream"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/streams/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["look_up_streams"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_tools_for_pages"];
        put?: never;
        post: operations["call_tool_v1"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/rerank": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_rerank_v2"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Account: {
            keep_texts: boolean;
            key: string | null;
            limits: components["schemas"]["TenantLimits"];
            /** @enum {string} */
            max_priority: "high" | "normal" | "low";
            models: string[] | null;
            object?: unknown;
            tenant: string;
        };
        AcknowledgementBody: {
            hours?: number | null;
            note?: string | null;
        };
        AddedModel: {
            model: string;
            operation: components["schemas"]["OperationObject"] | null;
        };
        AdditionBody: {
            configuration?: {
                [key: string]: unknown;
            } | null;
            name?: string | null;
            replace?: boolean | null;
            source: string;
        };
        AdditionPlanObject: {
            configuration: {
                [key: string]: unknown;
            };
            defaults: components["schemas"]["DefaultObject"][];
            download_bytes: number;
            files: components["schemas"]["ModelFile"][];
            fit: components["schemas"]["ModelFit"];
            model: string;
            source: string;
        };
        AdminModel: {
            capabilities: components["schemas"]["Capabilities"];
            configured_enabled: boolean;
            configured_target_inflight: number;
            context_reason: string | null;
            context_tokens: number | null;
            crashes: number;
            definition: {
                [key: string]: unknown;
            };
            dynamic: boolean;
            effective_target_inflight: number;
            inflight_requests: number;
            is_loaded: boolean;
            last_error: string | null;
            last_error_code: string | null;
            last_load: components["schemas"]["LastLoadObject"] | null;
            last_load_override: {
                [key: string]: unknown;
            };
            load_constraints: {
                [key: string]: components["schemas"]["IntegerConstraint"] | components["schemas"]["IntegerOrNullConstraint"] | components["schemas"]["FloatConstraint"] | components["schemas"]["EnumConstraint"] | components["schemas"]["StringOrNullConstraint"];
            };
            load_field_descriptions: {
                [key: string]: string;
            };
            load_null_meanings: {
                [key: string]: string;
            };
            load_override: {
                [key: string]: unknown;
            };
            load_recommendations: {
                [key: string]: components["schemas"]["PairPresets"];
            };
            loaded_at: number | null;
            loaded_replicas: number;
            memory_parts: components["schemas"]["MemoryParts"] | null;
            name: string;
            nullable_load_fields: string[];
            operation_id: string | null;
            origin: {
                [key: string]: string;
            } | null;
            queue_depth: number;
            registered: boolean;
            replica_max: number;
            replicas: number;
            resolved_backend: string;
            restart_at: number | null;
            runtime_inflight: number;
            /** @enum {string} */
            runtime_state: "unloaded" | "loading" | "loaded" | "unloading" | "failed";
            scaling: components["schemas"]["ScalingObject"] | null;
            size_mib: number | null;
            vram_estimate_mib: number | null;
            vram_estimate_replica_count: number;
            /** @enum {string} */
            vram_estimate_source: "observed_load_delta" | "model_artifact_size" | "unavailable";
        };
        AdminModelList: {
            models: components["schemas"]["AdminModel"][];
            unreadable: components["schemas"]["UnreadableModelObject"][];
        };
        AlertAcknowledgement: {
            actor: string;
            at: number;
            made_at: number;
            note: string;
            until: number | null;
        };
        AlertChangedEvent: {
            alert: string;
            at: number;
            /** @enum {string} */
            from: "inactive" | "pending" | "firing" | "acknowledged";
            id: string;
            label: string;
            message: string;
            /** @enum {string} */
            severity: "critical" | "warning";
            /** @enum {string} */
            to: "firing" | "resolved" | "acknowledged";
            /** @enum {string} */
            type: "alert";
        };
        AlertInstance: {
            acknowledged: boolean;
            labels: {
                [key: string]: string;
            };
            since: number;
            /** @enum {string} */
            state: "firing" | "pending" | "resolved";
            summary: string;
            value: number;
        };
        AlertList: {
            data: components["schemas"]["AlertObject"][];
            evaluated_at: number | null;
            now: number;
            /** @enum {string} */
            object: "list";
            unacknowledged: number;
        };
        AlertObject: {
            acknowledged: boolean;
            acknowledged_at: number | null;
            acknowledgement: components["schemas"]["AlertAcknowledgement"] | null;
            condition: string;
            hold_s: number;
            instances: components["schemas"]["AlertInstance"][];
            name: string;
            runbook: string;
            /** @enum {string} */
            severity: "critical" | "warning";
            since: number | null;
            /** @enum {string} */
            state: "firing" | "pending" | "resolved" | "inactive" | "not_evaluated";
            summary: string | null;
            /** @enum {string} */
            unit: "number" | "share" | "seconds";
            value: number | null;
        };
        AllowedChatTools: {
            /** @enum {string} */
            mode: "auto" | "required";
            tools: components["schemas"]["ChatToolChoice"][];
        };
        AllowedTools: {
            /** @enum {string} */
            mode: "auto" | "required";
            tools: ((components["schemas"]["FunctionChoice"] & {
                /** @enum {unknown} */
                type: "function";
            }) | (components["schemas"]["CustomChoice"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["NamespaceChoice"] & {
                /** @enum {unknown} */
                type: "namespace";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[];
            /** @enum {string} */
            type: "allowed_tools";
        };
        AnswerDigests: {
            sha256: string;
            textSha256: string;
        };
        AnthropicError: {
            error: components["schemas"]["AnthropicErrorDetails"];
            request_id: string | null;
            /** @enum {string} */
            type: "error";
        };
        AnthropicErrorDetails: {
            code: string;
            message: string;
            param: string | null;
            type: string;
        };
        AnthropicJsonSchemaFormat: {
            schema: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            type: "json_schema";
        };
        AnthropicMessage: {
            content: string | ((components["schemas"]["TextBlock"] & {
                /** @enum {unknown} */
                type: "text";
            }) | (components["schemas"]["ImageBlock"] & {
                /** @enum {unknown} */
                type: "image";
            }) | (components["schemas"]["DocumentBlock"] & {
                /** @enum {unknown} */
                type: "document";
            }) | (components["schemas"]["ToolUseBlock"] & {
                /** @enum {unknown} */
                type: "tool_use";
            }) | (components["schemas"]["ToolResultBlock"] & {
                /** @enum {unknown} */
                type: "tool_result";
            }) | (components["schemas"]["ThinkingBlock"] & {
                /** @enum {unknown} */
                type: "thinking";
            }) | (components["schemas"]["RedactedThinkingBlock"] & {
                /** @enum {unknown} */
                type: "redacted_thinking";
            }) | (components["schemas"]["SearchResultBlock"] & {
                /** @enum {unknown} */
                type: "search_result";
            }) | (components["schemas"]["OtherBlock"] & {
                type: string;
            }))[];
            /** @enum {string} */
            role: "user" | "assistant" | "system";
        };
        AnthropicUsage: {
            cache_creation_input_tokens: number;
            cache_read_input_tokens: number;
            input_tokens: number;
            output_tokens: number;
            output_tokens_details: components["schemas"]["OutputTokensDetails"];
            /** @enum {string} */
            service_tier: "standard" | "priority";
        };
        ApplyTemplateRequest: {
            chat_template_kwargs?: components["schemas"]["TemplateArguments"] | null;
            messages: components["schemas"]["ChatMessage"][];
            model?: string | null;
            reasoning_effort?: string | null;
            tool_choice?: ("none" | "auto" | "required" | "any") | ((components["schemas"]["ChatToolChoice"] & {
                /** @enum {unknown} */
                type?: "function";
            }) | (components["schemas"]["ChatAllowedTools"] & {
                /** @enum {unknown} */
                type: "allowed_tools";
            }) | (components["schemas"]["ChatMode"] & {
                /** @enum {unknown} */
                type: "none" | "auto" | "required" | "any";
            })) | null;
            tools?: ((components["schemas"]["ChatTool"] & {
                /** @enum {unknown} */
                type?: "function";
            }) | (components["schemas"]["ChatCustomTool"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[] | null;
        };
        AudioPart: {
            input_audio: components["schemas"]["InputAudio"];
            /** @enum {string} */
            type: "input_audio";
        };
        AuditHead: {
            at: number;
            digest: string;
            keyId: string;
            number: number;
            publicKey: string;
            runner: string;
            signature: string;
        };
        AuditPage: {
            damaged: number[];
            data: components["schemas"]["AuditRecordObject"][];
            has_more: boolean;
            next_after: number | null;
            object?: unknown;
        };
        AuditRecordObject: {
            action: string;
            actor: string;
            at: number;
            authority: string;
            detail: {
                [key: string]: unknown;
            };
            digest: string;
            entry: string;
            number: number;
            outcome: string;
            previous: string;
            subject: string;
        };
        AuthorizationUrl: {
            url: string;
        };
        AutoChoice: {
            disable_parallel_tool_use?: boolean | null;
            /** @enum {string} */
            type: "auto" | "any" | "none";
        };
        Base64Source: {
            data: string;
            media_type: string;
            /** @enum {string} */
            type: "base64";
        };
        BatchCounts: {
            completed: number;
            failed: number;
            total: number;
        };
        BatchList: {
            data: components["schemas"]["BatchObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            object: string;
        };
        BatchObject: {
            cancelled_at: number | null;
            cancelling_at: number | null;
            completed_at: number | null;
            completion_window: string;
            created_at: number;
            endpoint: string;
            error_file_id: string | null;
            errors: components["schemas"]["BatchProblems"] | null;
            expired_at: number | null;
            expires_at: number;
            failed_at: number | null;
            finalizing_at: number | null;
            id: string;
            in_progress_at: number | null;
            input_file_id: string;
            metadata: {
                [key: string]: string;
            } | null;
            model: string | null;
            object: string;
            output_file_id: string | null;
            request_counts: components["schemas"]["BatchCounts"];
            /** @enum {string} */
            status: "validating" | "failed" | "in_progress" | "finalizing" | "completed" | "expired" | "cancelling" | "cancelled";
            usage: {
                [key: string]: unknown;
            };
        };
        BatchProblem: {
            code: string;
            line: number | null;
            message: string;
            param: string | null;
        };
        BatchProblems: {
            data: components["schemas"]["BatchProblem"][];
            object: string;
        };
        BatchRequest: {
            /** @enum {string} */
            completion_window: "24h";
            /** @enum {string} */
            endpoint: "/v1/responses" | "/v1/chat/completions" | "/v1/completions" | "/v1/embeddings";
            input_file_id: string;
            metadata?: {
                [key: string]: string;
            } | null;
            output_expires_after?: components["schemas"]["OutputExpiry"] | null;
        };
        BrowserSession: {
            address: string;
            created_at: number;
            has_admin_part: boolean;
            id: string;
            is_current: boolean;
            key: string | null;
            last_used_at: number;
            object?: unknown;
            person: components["schemas"]["SessionPerson"] | null;
            subject: string | null;
            tenant: string | null;
            user_agent: string;
        };
        BrowserSessionList: {
            data: components["schemas"]["BrowserSession"][];
            has_more: boolean;
            object?: unknown;
            total: number;
        };
        BudgetUse: {
            gpu_s: components["schemas"]["TimeUse"];
            resets_at: number;
            soft: number | null;
            tokens: components["schemas"]["CountUse"];
        };
        CacheControl: {
            tag?: string | null;
            ttl?: string | null;
            /** @enum {string} */
            type: "ephemeral";
        };
        CacheFlushBody: {
            modelId?: string | null;
            propose?: boolean | null;
            /** @enum {string} */
            scope: "all" | "model" | "tenant" | "tag";
            tag?: string | null;
            tenantId?: string | null;
            verifiedOpToken?: string | {
                [key: string]: unknown;
            } | null;
        };
        CachedPromptObject: {
            before: components["schemas"]["JobTenant"];
            beforeId: string;
            replica: string;
            tokens: number;
        };
        CalledFunction: {
            arguments?: string | null;
            name: string;
        };
        CalledOllamaFunction: {
            arguments?: {
                [key: string]: unknown;
            } | null;
            name: string;
        };
        CancelledRequest: {
            id: string;
            status: string;
            tenant: string;
        };
        CancelledTenant: {
            cancelled: number;
            left: number;
            models: string[];
            stopping: number;
            tenant: string;
        };
        Capabilities: {
            modalities: string[];
            multi_turn: boolean;
            thinking_modes: string[];
        };
        CapabilityFlags: {
            audioInput: boolean;
            functionCalling: boolean;
            multiTenant: boolean;
            prefixCaching: boolean;
            streaming: boolean;
            visionInput: boolean;
        };
        CatalogueChangedEvent: {
            at: number;
            /** @enum {string} */
            change: "registered" | "removed" | "download" | "remove";
            code: string | null;
            id: string;
            message: string | null;
            model: string;
            operation_id: string | null;
            status: string | null;
            /** @enum {string} */
            type: "catalogue";
        };
        ChangeList: {
            data: (components["schemas"]["StateChangedEvent"] | components["schemas"]["CatalogueChangedEvent"] | components["schemas"]["ProposalChangedEvent"] | components["schemas"]["AlertChangedEvent"])[];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
        };
        ChangedModel: {
            capabilities: components["schemas"]["Capabilities"];
            configured_enabled: boolean;
            configured_target_inflight: number;
            context_reason: string | null;
            context_tokens: number | null;
            crashes: number;
            definition: {
                [key: string]: unknown;
            };
            dynamic: boolean;
            effective_target_inflight: number;
            inflight_requests: number;
            is_loaded: boolean;
            last_error: string | null;
            last_error_code: string | null;
            last_load: components["schemas"]["LastLoadObject"] | null;
            last_load_override: {
                [key: string]: unknown;
            };
            load_constraints: {
                [key: string]: components["schemas"]["IntegerConstraint"] | components["schemas"]["IntegerOrNullConstraint"] | components["schemas"]["FloatConstraint"] | components["schemas"]["EnumConstraint"] | components["schemas"]["StringOrNullConstraint"];
            };
            load_field_descriptions: {
                [key: string]: string;
            };
            load_null_meanings: {
                [key: string]: string;
            };
            load_override: {
                [key: string]: unknown;
            };
            load_recommendations: {
                [key: string]: components["schemas"]["PairPresets"];
            };
            loaded_at: number | null;
            loaded_replicas: number;
            memory_parts: components["schemas"]["MemoryParts"] | null;
            name: string;
            nullable_load_fields: string[];
            operation: components["schemas"]["OperationObject"] | null;
            operation_id: string | null;
            origin: {
                [key: string]: string;
            } | null;
            queue_depth: number;
            registered: boolean;
            replica_max: number;
            replicas: number;
            resolved_backend: string;
            restart_at: number | null;
            runtime_inflight: number;
            /** @enum {string} */
            runtime_state: "unloaded" | "loading" | "loaded" | "unloading" | "failed";
            scaling: components["schemas"]["ScalingObject"] | null;
            size_mib: number | null;
            vram_estimate_mib: number | null;
            vram_estimate_replica_count: number;
            /** @enum {string} */
            vram_estimate_source: "observed_load_delta" | "model_artifact_size" | "unavailable";
        };
        ChatAllowedTools: {
            allowed_tools: components["schemas"]["AllowedChatTools"];
            /** @enum {string} */
            type: "allowed_tools";
        };
        ChatCompletion: {
            choices: {
                [key: string]: unknown;
            }[];
            created: number;
            id: string;
            model: string;
            /** @enum {string} */
            object: "chat.completion";
            timings?: {
                [key: string]: unknown;
            };
            usage: {
                [key: string]: unknown;
            } | null;
        };
        ChatCustomTool: {
            /** @enum {string} */
            type: "custom";
        };
        ChatFile: {
            file_data?: string | null;
            file_id?: string | null;
            filename?: string | null;
        } & ({
            file_data: string;
        } | {
            file_id: string;
        });
        ChatFilePart: {
            file: components["schemas"]["ChatFile"];
            /** @enum {string} */
            type: "file";
        };
        ChatFunction: {
            description?: string | null;
            name: string;
            parameters?: {
                [key: string]: unknown;
            } | null;
            strict?: boolean | null;
        };
        ChatImagePart: {
            image_url: components["schemas"]["ImageUrl"];
            /** @enum {string} */
            type: "image_url";
        };
        ChatJsonSchemaFormat: {
            json_schema: components["schemas"]["NamedJson"];
            /** @enum {string} */
            type: "json_schema";
        };
        ChatMessage: {
            content?: string | ((components["schemas"]["TextPart"] & {
                /** @enum {unknown} */
                type: "text";
            }) | (components["schemas"]["RefusalPart"] & {
                /** @enum {unknown} */
                type: "refusal";
            }) | (components["schemas"]["ChatImagePart"] & {
                /** @enum {unknown} */
                type: "image_url";
            }) | (components["schemas"]["AudioPart"] & {
                /** @enum {unknown} */
                type: "input_audio";
            }) | (components["schemas"]["ChatFilePart"] & {
                /** @enum {unknown} */
                type: "file";
            }) | (components["schemas"]["OtherPart"] & {
                type: string;
            }))[] | null;
            function_call?: components["schemas"]["CalledFunction"] | null;
            name?: string | null;
            reasoning_content?: string | null;
            refusal?: string | null;
            /** @enum {string} */
            role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
            tool_call_id?: string | null;
            tool_calls?: components["schemas"]["ChatToolCall"][] | null;
        } | {
            content: unknown & unknown;
            /** @enum {unknown} */
            role: "user";
        } | {
            content?: unknown;
            /** @enum {unknown} */
            role: "assistant";
        } | {
            content: unknown & unknown & unknown;
            /** @enum {unknown} */
            role: "system" | "developer";
        } | {
            content?: unknown;
            /** @enum {unknown} */
            role: "tool";
            tool_call_id: string;
        } | {
            content?: unknown;
            /** @enum {unknown} */
            role: "function";
        };
        ChatMode: {
            /** @enum {string} */
            type: "none" | "auto" | "required" | "any";
        };
        ChatRequest: {
            adaptive_decay?: number | null;
            adaptive_target?: number | null;
            add_generation_prompt?: boolean | null;
            allow_remote?: boolean | null;
            cache_prompt?: boolean | null;
            chat_template?: unknown;
            chat_template_kwargs?: components["schemas"]["TemplateArguments"] | null;
            dry_allowed_length?: number | null;
            dry_base?: number | null;
            dry_multiplier?: number | null;
            dry_penalty_last_n?: number | null;
            dry_sequence_breakers?: string[] | null;
            dynatemp_exponent?: number | null;
            dynatemp_range?: number | null;
            enable_thinking?: boolean | null;
            frequency_penalty?: number | null;
            function_call?: ("none" | "auto") | components["schemas"]["ChosenFunction"] | null;
            functions?: components["schemas"]["ChatFunction"][] | null;
            grammar?: string | null;
            guided_json?: {
                [key: string]: unknown;
            } | string | null;
            /** @enum {integer|null} */
            id_slot?: -1 | null;
            json_schema?: {
                [key: string]: unknown;
            } | string | null;
            logit_bias?: Record<string, never> | null;
            logprobs?: boolean | null;
            lora?: string | null;
            max_completion_tokens?: number | null;
            max_tokens?: number | null;
            messages: components["schemas"]["ChatMessage"][];
            metadata?: unknown;
            min_keep?: number | null;
            min_p?: number | null;
            mirostat?: number | null;
            mirostat_eta?: number | null;
            mirostat_tau?: number | null;
            model?: string | null;
            n?: number | null;
            n_predict?: number | null;
            n_probs?: number | null;
            parallel_tool_calls?: boolean | null;
            parse_tool_calls?: boolean | null;
            presence_penalty?: number | null;
            prompt_cache_key?: string | null;
            reasoning_control?: boolean | null;
            reasoning_effort?: string | null;
            /** @enum {string|null} */
            reasoning_format?: "none" | "auto" | "deepseek" | "deepseek-legacy" | null;
            repeat_last_n?: number | null;
            repeat_penalty?: number | null;
            repetition_penalty?: number | null;
            response_format?: (components["schemas"]["TextFormat"] & {
                /** @enum {unknown} */
                type?: "text";
            }) | (components["schemas"]["JsonObjectFormat"] & {
                /** @enum {unknown} */
                type: "json_object";
            }) | (components["schemas"]["ChatJsonSchemaFormat"] & {
                /** @enum {unknown} */
                type: "json_schema";
            }) | null;
            return_progress?: boolean | null;
            samplers?: string | string[] | null;
            seed?: number | null;
            service_tier?: string | null;
            source_lang_code?: string | null;
            stop?: string | string[] | null;
            stream?: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            structured_outputs?: components["schemas"]["StructuredOutputs"] | null;
            target_lang_code?: string | null;
            temperature?: number | null;
            thinking?: ("default" | "enabled" | "disabled") | components["schemas"]["ThinkingSwitch"] | null;
            thinking_budget_tokens?: number | null;
            timings_per_token?: boolean | null;
            tool_choice?: ("none" | "auto" | "required" | "any") | ((components["schemas"]["ChatToolChoice"] & {
                /** @enum {unknown} */
                type?: "function";
            }) | (components["schemas"]["ChatAllowedTools"] & {
                /** @enum {unknown} */
                type: "allowed_tools";
            }) | (components["schemas"]["ChatMode"] & {
                /** @enum {unknown} */
                type: "none" | "auto" | "required" | "any";
            })) | null;
            tools?: ((components["schemas"]["ChatTool"] & {
                /** @enum {unknown} */
                type?: "function";
            }) | (components["schemas"]["ChatCustomTool"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[] | null;
            top_k?: number | null;
            top_logprobs?: number | null;
            top_n_sigma?: number | null;
            top_p?: number | null;
            typical_p?: number | null;
            xtc_probability?: number | null;
            xtc_threshold?: number | null;
        } | {
            /** @enum {unknown} */
            top_logprobs?: 0 | null;
        } | {
            /** @constant */
            logprobs: true;
        };
        ChatTool: {
            function: components["schemas"]["ChatFunction"];
            /** @enum {string} */
            type: "function";
        };
        ChatToolCall: {
            function: components["schemas"]["CalledFunction"];
            id?: string | null;
            /** @enum {string|null} */
            type?: "function" | null;
        };
        ChatToolChoice: {
            function: components["schemas"]["ChosenFunction"];
            /** @enum {string} */
            type: "function";
        };
        ChosenFunction: {
            name: string;
        };
        CompactRequest: {
            allow_remote?: boolean | null;
            input?: string | ((components["schemas"]["InputMessage"] & {
                /** @enum {unknown} */
                type?: "message";
            }) | (components["schemas"]["InputFunctionCall"] & {
                /** @enum {unknown} */
                type: "function_call";
            }) | (components["schemas"]["InputFunctionOutput"] & {
                /** @enum {unknown} */
                type: "function_call_output";
            }) | (components["schemas"]["InputCustomCall"] & {
                /** @enum {unknown} */
                type: "custom_tool_call";
            }) | (components["schemas"]["InputCustomOutput"] & {
                /** @enum {unknown} */
                type: "custom_tool_call_output";
            }) | (components["schemas"]["InputReasoning"] & {
                /** @enum {unknown} */
                type: "reasoning";
            }) | (components["schemas"]["InputCompaction"] & {
                /** @enum {unknown} */
                type: "compaction";
            }) | (components["schemas"]["InputSearchCall"] & {
                /** @enum {unknown} */
                type: "tool_search_call";
            }) | (components["schemas"]["InputSearchOutput"] & {
                /** @enum {unknown} */
                type: "tool_search_output";
            }) | (components["schemas"]["InputTools"] & {
                /** @enum {unknown} */
                type: "additional_tools";
            }) | (components["schemas"]["ItemReference"] & {
                /** @enum {unknown} */
                type: "item_reference";
            }) | (components["schemas"]["OtherItem"] & {
                type: string;
            }))[] | null;
            instructions?: string | null;
            lora?: string | null;
            model: string;
            previous_response_id?: string | null;
            prompt_cache_key?: string | null;
            service_tier?: string | null;
        } | {
            input: unknown;
        } | {
            previous_response_id: unknown;
        };
        CompactedResponse: {
            created_at: number;
            id: string;
            /** @enum {string} */
            object: "response.compaction";
            output: {
                [key: string]: unknown;
            }[];
            usage: {
                [key: string]: unknown;
            };
        };
        ComparisonProblem: {
            code: string;
            message: string;
        };
        CompletionRequest: {
            allow_remote?: boolean | null;
            /** @enum {integer|null} */
            best_of?: 1 | null;
            echo?: boolean | null;
            frequency_penalty?: number | null;
            logit_bias?: Record<string, never> | null;
            logprobs?: number | null;
            lora?: string | null;
            max_tokens?: number | null;
            min_p?: number | null;
            model: string;
            n?: number | null;
            presence_penalty?: number | null;
            prompt: string | (string | number | number[])[];
            repetition_penalty?: number | null;
            seed?: number | null;
            stop?: string | string[] | null;
            stream?: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            suffix?: string | null;
            temperature?: number | null;
            top_k?: number | null;
            top_p?: number | null;
        };
        ContentSource: {
            content: string | ((components["schemas"]["TextBlock"] & {
                /** @enum {unknown} */
                type: "text";
            }) | (components["schemas"]["ImageBlock"] & {
                /** @enum {unknown} */
                type: "image";
            }))[];
            /** @enum {string} */
            type: "content";
        };
        ControlAnswer: {
            message?: string;
            success: boolean;
        };
        ControlRequest: {
            /** @enum {string} */
            action: "reasoning_end";
            id: string;
            model?: string | null;
        };
        ConversationChange: {
            metadata?: {
                [key: string]: string;
            } | null;
        };
        ConversationItem: {
            continues?: string;
            created_at: number | null;
            error?: {
                [key: string]: unknown;
            } | null;
            id: string;
            measurements?: {
                [key: string]: unknown;
            };
            metadata?: {
                [key: string]: string;
            };
            model?: string;
            parent_id: string | null;
            response_id?: string;
            /** @enum {string} */
            response_status?: "completed" | "incomplete" | "failed" | "cancelled";
            type: string;
            usage?: {
                [key: string]: unknown;
            } | null;
        };
        ConversationItemList: {
            data: {
                [key: string]: unknown;
            }[];
            first_id: string;
            has_more: boolean;
            last_id: string;
            /** @enum {string} */
            object: "list";
        };
        ConversationList: {
            data: components["schemas"]["ConversationObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
            quota: components["schemas"]["ConversationQuota"];
        };
        ConversationObject: {
            bytes: number;
            created_at: number;
            expires_at: number;
            id: string;
            item_count: number;
            metadata: {
                [key: string]: string;
            };
            /** @enum {string} */
            object: "conversation";
            turns: components["schemas"]["OpenTurn"][];
            updated_at: number;
        };
        ConversationQuota: {
            bytes: number;
            conversations: number;
            max_bytes: number;
            max_conversations: number;
        };
        ConversationReference: {
            /** @enum {string|null} */
            attachments?: "all" | "auto" | null;
            id: string;
            parent?: string | null;
        };
        CountTokensRequest: {
            allow_remote?: boolean | null;
            cache_control?: components["schemas"]["CacheControl"] | null;
            lora?: string | null;
            max_tokens?: number | null;
            messages: components["schemas"]["AnthropicMessage"][];
            model: string;
            output_config?: components["schemas"]["OutputConfig"] | null;
            service_tier?: string | null;
            stop_sequences?: string[] | null;
            stream?: boolean | null;
            system?: string | (components["schemas"]["TextBlock"] & {
                /** @enum {unknown} */
                type: "text";
            })[] | null;
            temperature?: number | null;
            thinking?: components["schemas"]["Thinking"] | null;
            tool_choice?: (components["schemas"]["AutoChoice"] & {
                /** @enum {unknown} */
                type: "auto" | "any" | "none";
            }) | (components["schemas"]["ToolChoice"] & {
                /** @enum {unknown} */
                type: "tool";
            }) | null;
            tools?: ((components["schemas"]["CustomTool"] & {
                /** @enum {unknown} */
                type?: "custom";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[] | null;
            top_k?: number | null;
            top_p?: number | null;
        };
        CountUse: {
            most: number | null;
            used: number;
        };
        CreatedKey: {
            created_at: number | null;
            expires_at: number | null;
            has_expired: boolean;
            hint: string;
            id: string;
            is_configured: boolean;
            key: string;
            label: string;
            last_used_at: number | null;
            models: string[] | null;
            /** @enum {string} */
            object: "api_key";
            scopes: ("inference" | "read" | "operate" | "admin" | "metrics" | "governance" | "tenants")[];
            tenant: string;
        };
        CustomChoice: {
            name: string;
            namespace?: string | null;
            /** @enum {string} */
            type: "custom";
        };
        CustomTool: {
            description?: string | null;
            input_schema: {
                [key: string]: unknown;
            };
            name: string;
            strict?: boolean | null;
            /** @enum {string|null} */
            type?: "custom" | null;
        };
        DefaultObject: {
            field: string;
            reason: string;
            value: unknown;
        };
        DeletedConversation: {
            deleted: boolean;
            id: string;
            /** @enum {string} */
            object: "conversation.deleted";
        };
        DeletedFile: {
            deleted: boolean;
            id: string;
            object: string;
        };
        DeletedMessageBatch: {
            id: string;
            /** @enum {string} */
            type: "message_batch_deleted";
        };
        DeletedResponse: {
            deleted: boolean;
            id: string;
            /** @enum {string} */
            object: "response";
        };
        DeletedWorkflow: {
            deleted: boolean;
            id: string;
            /** @enum {string} */
            object: "comfyui.prompt";
        };
        DetokenizeRequest: {
            model?: string | null;
            tokens?: number[] | null;
        };
        DocumentBlock: {
            context?: string | null;
            source: (components["schemas"]["Base64Source"] & {
                /** @enum {unknown} */
                type: "base64";
            }) | (components["schemas"]["TextSource"] & {
                /** @enum {unknown} */
                type: "text";
            }) | (components["schemas"]["ContentSource"] & {
                /** @enum {unknown} */
                type: "content";
            }) | (components["schemas"]["FileSource"] & {
                /** @enum {unknown} */
                type: "file";
            });
            title?: string | null;
            /** @enum {string} */
            type: "document";
        };
        DrainedModel: {
            freesMB: number | null;
            modelId: string;
            replicas: number;
            runningRequests: number;
            state: string;
            waitingRequests: number;
        };
        EmbeddingRequest: {
            content?: string | (string | number | number[])[] | null;
            embd_normalize?: number | null;
            input?: string | (string | number | number[])[] | null;
            model?: string | null;
        };
        EmbeddingsObject: {
            data: {
                [key: string]: unknown;
            }[];
            model: string;
            /** @enum {string} */
            object: "list";
            usage: {
                [key: string]: unknown;
            };
        };
        EmbeddingsRequest: {
            allow_remote?: boolean | null;
            dimensions?: number | null;
            /** @enum {string|null} */
            encoding_format?: "float" | "base64" | null;
            input: string | (string | number | number[])[];
            model: string;
        };
        EndedSession: {
            deleted: boolean;
            id: string;
            object?: unknown;
        };
        EngineLog: {
            data: components["schemas"]["EngineLogLine"][];
            first_id: string | null;
            has_gap: boolean;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
        };
        EngineLogLine: {
            at: number;
            id: string;
            omitted_bytes: number;
            operation_id: string | null;
            replica: string;
            text: string;
            worker: string;
        };
        EnumConstraint: {
            allowed_values: string[];
            default?: string | null;
            examples?: string[];
            /** @enum {string} */
            kind: "enum";
        };
        ErrorBody: {
            error: components["schemas"]["ErrorDetails"];
        };
        ErrorDetails: {
            code: string;
            message: string;
            param: string | null;
            type: string;
        } & {
            [key: string]: unknown;
        };
        ExtraFile: {
            filename?: string | null;
            text?: string | null;
        };
        FileList: {
            data: components["schemas"]["FileObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            object: string;
        };
        FileObject: {
            bytes: number;
            created_at: number;
            expires_at: number | null;
            filename: string;
            id: string;
            object: string;
            purpose: string;
            status: string;
        };
        FilePart: {
            file_data?: string | null;
            file_id?: string | null;
            file_url?: string | null;
            filename?: string | null;
            /** @enum {string} */
            type: "input_file";
        } & (({
            file_data: string;
        } | {
            file_id: string;
        }) & {
            file_url?: null;
        });
        FileSource: {
            file_id: string;
            /** @enum {string} */
            type: "file";
        };
        FloatConstraint: {
            default?: number | null;
            /** @enum {string} */
            kind: "float";
            maximum?: number;
            minimum?: number;
            step?: number;
        };
        FlushBody: {
            model?: string | null;
            /** @enum {string} */
            scope: "all" | "model" | "tenant" | "tag";
            tag?: string | null;
            tenant?: string | null;
        };
        FlushPlan: {
            begins: boolean;
            models: components["schemas"]["FlushedModel"][];
            namespaces: string;
            problem: components["schemas"]["FlushProblem"] | null;
            replicas: number;
            running_requests: number;
            scope: components["schemas"]["FlushScopeObject"];
        };
        FlushProblem: {
            code: string;
            message: string;
        };
        FlushScopeObject: {
            /** @enum {string} */
            kind: "all" | "model" | "tenant" | "tag";
            model: string | null;
            tag: string | null;
            tenant: string | null;
        };
        FlushTask: {
            entriesRemoved?: number | null;
            error?: string;
            errorCode?: string;
            eta?: number | null;
            flushed?: boolean;
            memoryFreedMB?: number | null;
            modelId?: string;
            progress?: number;
            reason?: string;
            stage?: string;
            /** @enum {string} */
            status: "flushing" | "completed" | "failed" | "cancelled";
            taskId: string | null;
        };
        FlushedModel: {
            model: string;
            replicas: number;
            running_requests: number;
        };
        FoundEntry: {
            path: string;
            /** @enum {string} */
            type: "file" | "dir";
        };
        FreeformTool: {
            description?: string | null;
            format?: (components["schemas"]["TextInput"] & {
                /** @enum {unknown} */
                type: "text";
            }) | (components["schemas"]["GrammarInput"] & {
                /** @enum {unknown} */
                type: "grammar";
            }) | (components["schemas"]["OtherInput"] & {
                type: string;
            }) | null;
            name: string;
            /** @enum {string} */
            type: "custom";
        };
        FunctionChoice: {
            name: string;
            namespace?: string | null;
            /** @enum {string} */
            type: "function";
        };
        FunctionTool: {
            description?: string | null;
            name: string;
            parameters?: {
                [key: string]: unknown;
            } | null;
            strict?: boolean | null;
            /** @enum {string} */
            type: "function";
        };
        GpuMemory: {
            error: string | null;
            gpus: components["schemas"]["GpuObject"][];
            models: components["schemas"]["ModelMemory"][];
            workers: components["schemas"]["WorkerMemory"][];
        };
        GpuMemoryEvent: {
            gpu_memory: components["schemas"]["GpuMemory"];
            /** @enum {string} */
            type: "gpu_memory";
        };
        GpuObject: {
            index: number;
            name: string;
            total_mib: number;
            used_mib: number;
            used_over_total: string;
            uuid: string;
            workers: string[];
        };
        GrammarInput: {
            definition: string;
            syntax: string;
            /** @enum {string} */
            type: "grammar";
        };
        HealthBody: {
            modelsLoaded: number;
            modelsSaturated?: number;
            notReady?: string;
            queueDepth: number;
            reason?: string;
            /** @enum {string} */
            status: "healthy" | "unhealthy";
            uptime: number;
        };
        HostedMemory: {
            error: string | null;
            free_mib: number;
            id: string;
            promised_mib: number;
            total_mib: number;
        };
        HubChoiceObject: {
            bytes: number;
            files: components["schemas"]["ModelFile"][];
            fit: components["schemas"]["ModelFit"];
            label: string;
            source: string;
        };
        HubFiles: {
            choices: components["schemas"]["HubChoiceObject"][];
            repository: string;
            revision: string;
        };
        HubModel: {
            downloads: number | null;
            gated: boolean;
            library: string | null;
            likes: number | null;
            repository: string;
            updated_at: number | null;
        };
        HubModelList: {
            data: components["schemas"]["HubModel"][];
            /** @enum {string} */
            object: "list";
        };
        ImageBlock: {
            source: components["schemas"]["Base64Source"] & {
                /** @enum {unknown} */
                type: "base64";
            };
            /** @enum {string} */
            type: "image";
        };
        ImageEditForm: {
            /** @enum {string|null} */
            background?: "opaque" | "auto" | null;
            /** Format: binary */
            image: string;
            /** Format: binary */
            mask?: string;
            model: string;
            n?: number | null;
            negative_prompt?: string | null;
            output_compression?: number | null;
            /** @enum {string|null} */
            output_format?: "png" | "jpeg" | "webp" | null;
            partial_images?: number | null;
            prompt: string;
            quality?: string | null;
            /** @enum {string|null} */
            response_format?: "b64_json" | "url" | null;
            seed?: number | null;
            size?: string | null;
            steps?: number | null;
            stream?: boolean | null;
        };
        ImageObject: {
            b64_json?: string;
            url?: string;
        };
        ImagePart: {
            /** @enum {string|null} */
            detail?: "auto" | "low" | "high" | "original" | null;
            file_id?: string | null;
            image_url?: string | null;
            /** @enum {string} */
            type: "input_image";
        };
        ImageRequest: {
            /** @enum {string|null} */
            background?: "opaque" | "auto" | null;
            model: string;
            n?: number | null;
            negative_prompt?: string | null;
            output_compression?: number | null;
            /** @enum {string|null} */
            output_format?: "png" | "jpeg" | "webp" | null;
            partial_images?: number | null;
            prompt: string;
            quality?: string | null;
            /** @enum {string|null} */
            response_format?: "b64_json" | "url" | null;
            seed?: number | null;
            size?: string | null;
            steps?: number | null;
            stream?: boolean | null;
        };
        ImageUrl: {
            /** @enum {string|null} */
            detail?: "auto" | "low" | "high" | "original" | null;
            url: string;
        };
        ImagesObject: {
            background?: string;
            created: number;
            data: components["schemas"]["ImageObject"][];
            /** @enum {string} */
            output_format?: "png" | "jpeg" | "webp";
            quality?: string;
            size?: string;
            usage?: {
                [key: string]: unknown;
            };
        };
        IndexedVectors: {
            embedding: number[][];
            index: number;
        };
        InfillRequest: {
            adaptive_decay?: number | null;
            adaptive_target?: number | null;
            allow_remote?: boolean | null;
            cache_prompt?: boolean | null;
            dry_allowed_length?: number | null;
            dry_base?: number | null;
            dry_multiplier?: number | null;
            dry_penalty_last_n?: number | null;
            dry_sequence_breakers?: string[] | null;
            dynatemp_exponent?: number | null;
            dynatemp_range?: number | null;
            frequency_penalty?: number | null;
            grammar?: string | null;
            /** @enum {integer|null} */
            id_slot?: -1 | null;
            ignore_eos?: boolean | null;
            input_extra?: components["schemas"]["ExtraFile"][] | null;
            input_prefix: string;
            input_suffix: string;
            json_schema?: {
                [key: string]: unknown;
            } | string | null;
            logit_bias?: unknown[][] | Record<string, never>;
            lora?: components["schemas"]["LoraScale"][] | null;
            max_tokens?: number | null;
            min_keep?: number | null;
            min_p?: number | null;
            mirostat?: number | null;
            mirostat_eta?: number | null;
            mirostat_tau?: number | null;
            model?: string | null;
            n?: number | null;
            n_cmpl?: number | null;
            n_discard?: number | null;
            n_indent?: number | null;
            n_keep?: number | null;
            n_predict?: number | null;
            n_probs?: number | null;
            post_sampling_probs?: boolean | null;
            presence_penalty?: number | null;
            prompt?: string | null;
            repeat_last_n?: number | null;
            repeat_penalty?: number | null;
            response_fields?: string[] | null;
            return_tokens?: boolean | null;
            samplers?: string | string[] | null;
            seed?: number | null;
            stop?: string | string[] | null;
            stream?: boolean | null;
            t_max_predict_ms?: number | null;
            t_max_prompt_ms?: number | null;
            temperature?: number | null;
            timings_per_token?: boolean | null;
            top_k?: number | null;
            top_n_sigma?: number | null;
            top_p?: number | null;
            typical_p?: number | null;
            xtc_probability?: number | null;
            xtc_threshold?: number | null;
        };
        InputAudio: {
            data: string;
            /** @enum {string} */
            format: "wav" | "mp3";
        };
        InputCompaction: {
            encrypted_content: string;
            /** @enum {string} */
            type: "compaction";
        };
        InputCustomCall: {
            call_id: string;
            input: string;
            name: string;
            namespace?: string | null;
            /** @enum {string} */
            type: "custom_tool_call";
        };
        InputCustomOutput: {
            call_id: string;
            output: string | ((components["schemas"]["TextPart"] & {
                /** @enum {unknown} */
                type: "input_text" | "output_text";
            }) | (components["schemas"]["ImagePart"] & {
                /** @enum {unknown} */
                type: "input_image";
            }) | (components["schemas"]["RefusalPart"] & {
                /** @enum {unknown} */
                type: "refusal";
            }) | (components["schemas"]["FilePart"] & {
                /** @enum {unknown} */
                type: "input_file";
            }))[];
            status?: string | null;
            /** @enum {string} */
            type: "custom_tool_call_output";
        };
        InputFunctionCall: {
            arguments?: string | null;
            call_id: string;
            name: string;
            namespace?: string | null;
            /** @enum {string} */
            type: "function_call";
        };
        InputFunctionOutput: {
            call_id: string;
            output: string | ((components["schemas"]["TextPart"] & {
                /** @enum {unknown} */
                type: "input_text" | "output_text";
            }) | (components["schemas"]["ImagePart"] & {
                /** @enum {unknown} */
                type: "input_image";
            }) | (components["schemas"]["RefusalPart"] & {
                /** @enum {unknown} */
                type: "refusal";
            }) | (components["schemas"]["FilePart"] & {
                /** @enum {unknown} */
                type: "input_file";
            }))[];
            status?: string | null;
            /** @enum {string} */
            type: "function_call_output";
        };
        InputItemList: {
            data: {
                [key: string]: unknown;
            }[];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            object: string;
        };
        InputMessage: {
            content: string | ((components["schemas"]["TextPart"] & {
                /** @enum {unknown} */
                type: "input_text" | "output_text";
            }) | (components["schemas"]["ImagePart"] & {
                /** @enum {unknown} */
                type: "input_image";
            }) | (components["schemas"]["RefusalPart"] & {
                /** @enum {unknown} */
                type: "refusal";
            }) | (components["schemas"]["FilePart"] & {
                /** @enum {unknown} */
                type: "input_file";
            }) | (components["schemas"]["AudioPart"] & {
                /** @enum {unknown} */
                type: "input_audio";
            }))[];
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "developer";
            /** @enum {string|null} */
            type?: "message" | null;
        } | {
            /** @constant */
            role?: "user";
        } | {
            content?: unknown;
        };
        InputReasoning: {
            content?: (components["schemas"]["TextPart"] & {
                /** @enum {unknown} */
                type: "reasoning_text";
            })[] | null;
            encrypted_content?: string | null;
            summary?: (components["schemas"]["TextPart"] & {
                /** @enum {unknown} */
                type: "summary_text";
            })[] | null;
            /** @enum {string} */
            type: "reasoning";
        };
        InputSearchCall: {
            arguments?: unknown;
            call_id?: string | null;
            /** @enum {string} */
            type: "tool_search_call";
        };
        InputSearchOutput: {
            call_id?: string | null;
            tools: ((components["schemas"]["FunctionTool"] & {
                /** @enum {unknown} */
                type: "function";
            }) | (components["schemas"]["FreeformTool"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["NamespaceTool"] & {
                /** @enum {unknown} */
                type: "namespace";
            }) | (components["schemas"]["SearchTool"] & {
                /** @enum {unknown} */
                type: "tool_search";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[];
            /** @enum {string} */
            type: "tool_search_output";
        };
        InputTokensObject: {
            input_tokens: number;
            /** @enum {string} */
            object: "response.input_tokens";
        };
        InputTools: {
            tools: ((components["schemas"]["FunctionTool"] & {
                /** @enum {unknown} */
                type: "function";
            }) | (components["schemas"]["FreeformTool"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["NamespaceTool"] & {
                /** @enum {unknown} */
                type: "namespace";
            }) | (components["schemas"]["SearchTool"] & {
                /** @enum {unknown} */
                type: "tool_search";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[];
            /** @enum {string} */
            type: "additional_tools";
        };
        IntegerConstraint: {
            default?: number | null;
            display_unit?: string;
            /** @enum {string} */
            kind: "integer";
            maximum?: number;
            minimum?: number;
            step?: number;
            unit?: string;
        };
        IntegerOrNullConstraint: {
            allowed_values?: (number | null)[];
            default?: number | null;
            /** @enum {string} */
            kind: "integer_or_null";
            maximum?: number;
            minimum?: number;
            null_means?: string;
            step?: number;
        };
        ItemReference: {
            id: string;
            /** @enum {string} */
            type: "item_reference";
        };
        JobDelay: {
            leftMs: number;
            replica: string;
            tokens: number;
        };
        JobDetails: {
            attempt: number;
            createdAt: number;
            deadline: number | null;
            dispatchedAt: number | null;
            end: components["schemas"]["JobEnd"] | null;
            endedAt: number | null;
            estimatedWaitMs: number | null;
            id: string;
            model: string;
            /** @enum {string} */
            object: "job";
            position: number | null;
            positionIsEstimate: boolean | null;
            /** @enum {string} */
            priority: "high" | "high_background" | "normal" | "normal_background" | "low";
            queue: components["schemas"]["JobQueue"] | null;
            replica: string | null;
            runMs: number | null;
            /** @enum {string} */
            status: "queued" | "running" | "completed" | "incomplete" | "failed" | "cancelled";
            stopping: boolean;
            tenant: string;
            tokens: number | null;
            tokensPerSecond: number | null;
            waitedMs: number;
            worker: string | null;
        };
        JobEnd: {
            cachedTokens: number | null;
            code: string | null;
            finishReason: string | null;
            inputTokens: number | null;
            outputTokens: number | null;
        };
        JobList: {
            data: components["schemas"]["JobObject"][];
            has_more: boolean;
            next_after: string | null;
            /** @enum {string} */
            object: "list";
        };
        JobObject: {
            attempt: number;
            createdAt: number;
            deadline: number | null;
            dispatchedAt: number | null;
            endedAt: number | null;
            estimatedWaitMs: number | null;
            id: string;
            model: string;
            /** @enum {string} */
            object: "job";
            position: number | null;
            positionIsEstimate: boolean | null;
            /** @enum {string} */
            priority: "high" | "high_background" | "normal" | "normal_background" | "low";
            replica: string | null;
            runMs: number | null;
            /** @enum {string} */
            status: "queued" | "running" | "completed" | "incomplete" | "failed" | "cancelled";
            stopping: boolean;
            tenant: string;
            tokens: number | null;
            tokensPerSecond: number | null;
            waitedMs: number;
            worker: string | null;
        };
        JobQueue: {
            backgroundReserve: number;
            /** @enum {string} */
            cause: "next" | "no_slots" | "max_running" | "reserve" | "background_reserve" | "no_tenant" | "priority" | "locality" | "delayed" | "earlier_job" | "share" | "served";
            delay: components["schemas"]["JobDelay"] | null;
            floor: number;
            jobsBefore: number;
            mostSkips: {
                [key: string]: unknown;
            };
            next: components["schemas"]["NextJobObject"] | null;
            reason: string;
            reserveOneIn: number;
            running: number;
            skips: {
                [key: string]: unknown;
            };
            slots: number;
            tenant: components["schemas"]["JobTenant"];
            waitsFor: string | null;
        };
        JobTenant: {
            maxRunning: number;
            mayTakeSlot: boolean;
            running: number;
            runningByWeight: number;
            runningOnAllModels: number;
            servedByWeight: number;
            tenant: string;
            weight: number;
        };
        JsonObjectFormat: {
            schema?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            type: "json_object";
        };
        JsonSchemaFormat: {
            description?: string | null;
            name?: string | null;
            schema: {
                [key: string]: unknown;
            };
            strict?: boolean | null;
            /** @enum {string} */
            type: "json_schema";
        };
        KeptText: {
            isCut: boolean;
            text: string;
        };
        KeyBody: {
            expires_at?: number | null;
            label?: string | null;
            models?: string[] | null;
            scopes?: ("inference" | "read" | "operate" | "admin" | "metrics" | "governance" | "tenants")[] | null;
            tenant: string;
        };
        KeyFields: {
            expires_at?: number | null;
            label?: string | null;
            models?: string[] | null;
            scopes?: ("inference" | "read" | "operate" | "admin" | "metrics" | "governance" | "tenants")[] | null;
        };
        KeyList: {
            data: components["schemas"]["KeyObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
        };
        KeyObject: {
            created_at: number | null;
            expires_at: number | null;
            has_expired: boolean;
            hint: string;
            id: string;
            is_configured: boolean;
            label: string;
            last_used_at: number | null;
            models: string[] | null;
            /** @enum {string} */
            object: "api_key";
            scopes: ("inference" | "read" | "operate" | "admin" | "metrics" | "governance" | "tenants")[];
            tenant: string;
        };
        KeyUsageReport: {
            data: components["schemas"]["KeyUsageRow"][];
            /** Format: date */
            first_day: string;
            group_by: ("day" | "model" | "key")[];
            /** Format: date */
            last_day: string;
            object?: unknown;
            tenant: string;
            totals: components["schemas"]["UsageTotals"];
        };
        KeyUsageRow: {
            audio_seconds: number;
            cached_tokens: number;
            /** Format: date */
            day?: string;
            gpu_ms: number;
            images: number;
            input_tokens: number;
            key?: string | null;
            key_label?: string;
            model?: string;
            output_tokens: number;
            pixel_steps: number;
            queue_ms: number;
            requests: number;
            succeeded: number;
        };
        LastLoadObject: {
            at: number;
            override: {
                [key: string]: unknown;
            };
            replicas: number | null;
        };
        LiveBody: {
            /** @enum {string} */
            status: "live";
            uptime: number;
        };
        LlamaServerError: {
            error: components["schemas"]["LlamaServerErrorObject"];
        };
        LlamaServerErrorObject: {
            code: number;
            message: string;
            type: string;
        };
        LoadPlan: {
            begins: boolean;
            context: components["schemas"]["PlanContext"] | null;
            covers: {
                [key: string]: unknown;
            };
            definition: {
                [key: string]: unknown;
            };
            definitionDigest: string;
            digest: string;
            downloads: string | null;
            eta: number | null;
            evictions: components["schemas"]["DrainedModel"][];
            evicts: components["schemas"]["DrainedModel"] | null;
            files: {
                [key: string]: string;
            };
            lastError: string | null;
            memory: components["schemas"]["PlanMemory"];
            modelId: string;
            /** @enum {string} */
            operation: "model-load";
            override: {
                [key: string]: unknown;
            };
            problem: components["schemas"]["PlanProblem"] | null;
            replicas: number;
            state: string;
            workers: string[];
        };
        LoadRequest: {
            comfyui_max_images?: number;
            comfyui_memory_mib?: number | null;
            evictModel?: string | null;
            exllama_cache_k_bits?: number | null;
            exllama_cache_quant?: string | null;
            exllama_cache_size?: number;
            exllama_cache_v_bits?: number | null;
            exllama_max_rq_tokens?: number;
            gguf_flash_attn?: string;
            gguf_n_ctx?: number;
            gguf_type_k?: string | null;
            gguf_type_v?: string | null;
            llama_server_image_max_tokens?: number;
            llama_server_n_ctx?: number;
            llama_server_spec_draft_n_max?: number;
            llama_server_spec_draft_p_min?: number;
            llama_server_spec_type?: string | null;
            replicas?: number | null;
            sherpa_max_characters?: number;
            sherpa_threads?: number;
            vllm_kv_cache_dtype?: string;
            vllm_kv_cache_memory_bytes?: number;
            vllm_max_model_len?: number;
            vllm_max_pixels?: number;
            vllm_num_speculative_tokens?: number;
            vllm_speculative_method?: string | null;
            vllm_speculative_model?: string | null;
            whisper_beam_size?: number;
            whisper_compute_type?: string;
            whisper_max_seconds?: number;
        };
        LoadTask: {
            error?: string;
            errorCode?: string;
            eta?: number | null;
            gpuMemoryUsedMB?: number | null;
            loadTimeMs?: number | null;
            modelId?: string;
            progress?: number;
            stage?: string;
            /** @enum {string} */
            status: "loading" | "completed" | "failed" | "cancelled";
            taskId: string | null;
        };
        LoadedModel: {
            contextLength: number | null;
            gpuMemoryMB: number | null;
            id: string;
            loadedAt: number;
            quantization: string | null;
            queue: components["schemas"]["QueueState"];
        };
        LoadingModel: {
            eta: number | null;
            id: string;
            progress: number;
        };
        LoraAdapter: {
            id: number;
            path: string;
            scale: number;
        };
        LoraScale: {
            id: number;
            scale?: number | null;
        };
        MemoryParts: {
            cache_mib: number;
            other_mib: number;
            weights_mib: number;
        };
        MessageBatchCounts: {
            canceled: number;
            errored: number;
            expired: number;
            processing: number;
            succeeded: number;
        };
        MessageBatchLine: {
            custom_id: string;
            params: {
                [key: string]: unknown;
            };
        };
        MessageBatchList: {
            data: components["schemas"]["MessageBatchObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
        };
        MessageBatchObject: {
            archived_at: string | null;
            cancel_initiated_at: string | null;
            created_at: string;
            ended_at: string | null;
            expires_at: string;
            id: string;
            /** @enum {string} */
            processing_status: "in_progress" | "canceling" | "ended";
            request_counts: components["schemas"]["MessageBatchCounts"];
            results_url: string | null;
            /** @enum {string} */
            type: "message_batch";
        };
        MessageBatchRequest: {
            requests: components["schemas"]["MessageBatchLine"][];
        };
        MessageObject: {
            content: {
                [key: string]: unknown;
            }[];
            id: string;
            model: string;
            /** @enum {string} */
            role: "assistant";
            /** @enum {string} */
            stop_reason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "refusal";
            stop_sequence: string | null;
            /** @enum {string} */
            type: "message";
            usage: components["schemas"]["AnthropicUsage"];
        };
        MessagesRequest: {
            allow_remote?: boolean | null;
            cache_control?: components["schemas"]["CacheControl"] | null;
            lora?: string | null;
            max_tokens: number;
            messages: components["schemas"]["AnthropicMessage"][];
            model: string;
            output_config?: components["schemas"]["OutputConfig"] | null;
            service_tier?: string | null;
            stop_sequences?: string[] | null;
            stream?: boolean | null;
            system?: string | (components["schemas"]["TextBlock"] & {
                /** @enum {unknown} */
                type: "text";
            })[] | null;
            temperature?: number | null;
            thinking?: components["schemas"]["Thinking"] | null;
            tool_choice?: (components["schemas"]["AutoChoice"] & {
                /** @enum {unknown} */
                type: "auto" | "any" | "none";
            }) | (components["schemas"]["ToolChoice"] & {
                /** @enum {unknown} */
                type: "tool";
            }) | null;
            tools?: ((components["schemas"]["CustomTool"] & {
                /** @enum {unknown} */
                type?: "custom";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[] | null;
            top_k?: number | null;
            top_p?: number | null;
        };
        MetricSample: {
            at: number;
            cache_hit_rate: number | null;
            errors: {
                [key: string]: number;
            };
            failures_per_s: number | null;
            first_token_p50_ms: number | null;
            first_token_p95_ms: number | null;
            gpu_utilization: number | null;
            input_tokens_per_s: number | null;
            memory_total_mib: number;
            memory_used_mib: number | null;
            output_tokens_per_s: number | null;
            queue_wait_p50_ms: number | null;
            queue_wait_p95_ms: number | null;
            refusals_429: number | null;
            refusals_503: number | null;
            requests_per_s: number | null;
            running: number | null;
            waiting: number | null;
        };
        ModelArchitecture: {
            input_modalities: string[];
            output_modalities: string[];
        };
        ModelChat: {
            can_load: boolean;
            context_length: number | null;
            counts_tokens: boolean;
            failure: components["schemas"]["ModelFailure"] | null;
            image_qualities: string[];
            image_sizes: string[];
            input: string[];
            json_schema: boolean;
            load_s: number | null;
            loading: components["schemas"]["ModelLoading"] | null;
            may_load: boolean;
            media_tasks: string[];
            multi_turn: boolean;
            /** @enum {string} */
            on_demand: "load" | "reject";
            /** @enum {string} */
            output: "text" | "embeddings" | "scores" | "transcript" | "audio" | "image";
            quantization: string | null;
            reasoning: string[];
            sampling: string[];
            size_bytes: number | null;
            tokens_per_second: number | null;
            tools: boolean;
            voices: string[];
        };
        ModelDetail: {
            capabilities: components["schemas"]["Capabilities"];
            configured_enabled: boolean;
            configured_target_inflight: number;
            context_reason: string | null;
            context_tokens: number | null;
            crashes: number;
            definition: {
                [key: string]: unknown;
            };
            dynamic: boolean;
            effective_target_inflight: number;
            inflight_requests: number;
            is_loaded: boolean;
            last_error: string | null;
            last_error_code: string | null;
            last_load: components["schemas"]["LastLoadObject"] | null;
            last_load_override: {
                [key: string]: unknown;
            };
            load_constraints: {
                [key: string]: components["schemas"]["IntegerConstraint"] | components["schemas"]["IntegerOrNullConstraint"] | components["schemas"]["FloatConstraint"] | components["schemas"]["EnumConstraint"] | components["schemas"]["StringOrNullConstraint"];
            };
            load_field_descriptions: {
                [key: string]: string;
            };
            load_null_meanings: {
                [key: string]: string;
            };
            load_override: {
                [key: string]: unknown;
            };
            load_recommendations: {
                [key: string]: components["schemas"]["PairPresets"];
            };
            loaded_at: number | null;
            loaded_replicas: number;
            memory_parts: components["schemas"]["MemoryParts"] | null;
            name: string;
            nullable_load_fields: string[];
            operation_id: string | null;
            origin: {
                [key: string]: string;
            } | null;
            queue_depth: number;
            registered: boolean;
            replica_list: components["schemas"]["ReplicaObject"][];
            replica_max: number;
            replicas: number;
            resolved_backend: string;
            restart_at: number | null;
            runtime_inflight: number;
            /** @enum {string} */
            runtime_state: "unloaded" | "loading" | "loaded" | "unloading" | "failed";
            scaling: components["schemas"]["ScalingObject"] | null;
            size_mib: number | null;
            vram_estimate_mib: number | null;
            vram_estimate_replica_count: number;
            /** @enum {string} */
            vram_estimate_source: "observed_load_delta" | "model_artifact_size" | "unavailable";
        };
        ModelEvent: {
            model: components["schemas"]["AdminModel"];
            /** @enum {string} */
            type: "model";
        };
        ModelFailure: {
            code: string;
            message: string | null;
        };
        ModelFile: {
            bytes: number;
            name: string;
        };
        ModelFit: {
            evicts: string[];
            free_mib: number | null;
            need_mib: number | null;
            reason: string;
            total_mib: number | null;
            /** @enum {string} */
            verdict: "fits" | "fits_with_eviction" | "too_large" | "unknown";
        };
        ModelList: {
            data: components["schemas"]["ModelObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
        };
        ModelLoadBody: {
            evictModel?: string | null;
            gpuMemoryBudgetMB?: number | null;
            maxContextLength?: number | null;
            modelId: string;
            propose?: boolean | null;
            quantization?: string | null;
            verifiedOpToken?: string | {
                [key: string]: unknown;
            } | null;
        };
        ModelLoading: {
            eta_s: number | null;
            progress: number;
        };
        ModelMemory: {
            configured_target_inflight: number;
            effective_target_inflight: number;
            is_loaded: boolean;
            name: string;
            /** @enum {string} */
            runtime_state: "unloaded" | "loading" | "loaded" | "unloading" | "failed";
            vram_estimate_mib: number | null;
            vram_estimate_replica_count: number;
            /** @enum {string} */
            vram_estimate_source: "observed_load_delta" | "model_artifact_size" | "unavailable";
        };
        ModelNow: {
            definition: {
                [key: string]: unknown;
            };
            definitionDigest: string;
            modelId: string;
            override: {
                [key: string]: unknown;
            };
            replicas: number;
            runningRequests: number;
            state: string;
            waitingRequests: number;
        };
        ModelObject: {
            aliases: string[];
            architecture: components["schemas"]["ModelArchitecture"];
            can_remove: boolean;
            chat: components["schemas"]["ModelChat"];
            context_length: number | null;
            created: number;
            created_at: string;
            display_name: string;
            id: string;
            /** @enum {string} */
            lifecycle: "active";
            lora: string[];
            max_input_tokens: number | null;
            max_model_len: number | null;
            max_tokens: number | null;
            meta: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            object: "model";
            owned_by: string;
            path?: string;
            remote: boolean;
            /** @enum {string} */
            source: "settings" | "preset" | "cache";
            /** @enum {string} */
            state: "unloaded" | "loading" | "loaded" | "unloading" | "failed";
            status: components["schemas"]["ModelStatus"];
            tags: string[];
            /** @enum {string} */
            type: "model";
        };
        ModelRates: {
            cache_hit_rate: number | null;
            first_token_p95_ms: number | null;
            input_tokens_per_s: number;
            model: string;
            output_tokens_per_s: number;
            requests_per_s: number;
        };
        ModelRemovedEvent: {
            name: string;
            /** @enum {string} */
            type: "model_removed";
        };
        ModelStatus: {
            args: string[];
            exit_code?: number;
            failed: boolean;
            progress?: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            value: "unloaded" | "loading" | "loaded" | "downloading";
        };
        ModelUnloadBody: {
            modelId: string;
            propose?: boolean | null;
            verifiedOpToken?: string | {
                [key: string]: unknown;
            } | null;
        };
        Models: {
            available: string[];
            loaded: components["schemas"]["LoadedModel"][];
            loading: components["schemas"]["LoadingModel"][];
        };
        NamedJson: {
            description?: string | null;
            name?: string | null;
            schema?: {
                [key: string]: unknown;
            } | null;
            strict?: boolean | null;
        };
        NamedModel: {
            model: string;
        };
        NamespaceChoice: {
            name: string;
            /** @enum {string} */
            type: "namespace";
        };
        NamespaceTool: {
            description?: string | null;
            name: string;
            tools: ((components["schemas"]["FunctionTool"] & {
                /** @enum {unknown} */
                type: "function";
            }) | (components["schemas"]["FreeformTool"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[];
            /** @enum {string} */
            type: "namespace";
        };
        NativeCompletion: {
            completion_probabilities?: {
                [key: string]: unknown;
            }[];
            content?: string;
            generation_settings?: {
                [key: string]: unknown;
            };
            has_new_line?: boolean;
            id_slot?: number;
            index?: number;
            model?: string;
            prompt?: unknown;
            stop?: boolean;
            /** @enum {string} */
            stop_type?: "none" | "eos" | "limit" | "word";
            stopping_word?: string;
            timings?: {
                [key: string]: unknown;
            };
            tokens?: number[];
            tokens_cached?: number;
            tokens_evaluated?: number;
            tokens_predicted?: number;
            truncated?: boolean;
        };
        NativeCompletionRequest: {
            adaptive_decay?: number | null;
            adaptive_target?: number | null;
            allow_remote?: boolean | null;
            cache_prompt?: boolean | null;
            dry_allowed_length?: number | null;
            dry_base?: number | null;
            dry_multiplier?: number | null;
            dry_penalty_last_n?: number | null;
            dry_sequence_breakers?: string[] | null;
            dynatemp_exponent?: number | null;
            dynatemp_range?: number | null;
            frequency_penalty?: number | null;
            grammar?: string | null;
            /** @enum {integer|null} */
            id_slot?: -1 | null;
            ignore_eos?: boolean | null;
            json_schema?: {
                [key: string]: unknown;
            } | string | null;
            logit_bias?: unknown[][] | Record<string, never>;
            lora?: components["schemas"]["LoraScale"][] | null;
            max_tokens?: number | null;
            min_keep?: number | null;
            min_p?: number | null;
            mirostat?: number | null;
            mirostat_eta?: number | null;
            mirostat_tau?: number | null;
            model?: string | null;
            n?: number | null;
            n_cmpl?: number | null;
            n_discard?: number | null;
            n_indent?: number | null;
            n_keep?: number | null;
            n_predict?: number | null;
            n_probs?: number | null;
            post_sampling_probs?: boolean | null;
            presence_penalty?: number | null;
            prompt: string | (string | number)[] | {
                prompt_string: string;
            } | (string | (string | number)[] | {
                prompt_string: string;
            })[];
            repeat_last_n?: number | null;
            repeat_penalty?: number | null;
            response_fields?: string[] | null;
            return_tokens?: boolean | null;
            samplers?: string | string[] | null;
            seed?: number | null;
            stop?: string | string[] | null;
            stream?: boolean | null;
            t_max_predict_ms?: number | null;
            t_max_prompt_ms?: number | null;
            temperature?: number | null;
            timings_per_token?: boolean | null;
            top_k?: number | null;
            top_n_sigma?: number | null;
            top_p?: number | null;
            typical_p?: number | null;
            xtc_probability?: number | null;
            xtc_threshold?: number | null;
        };
        NewConversation: {
            items?: ((components["schemas"]["InputMessage"] & {
                /** @enum {unknown} */
                type?: "message";
            }) | (components["schemas"]["InputFunctionCall"] & {
                /** @enum {unknown} */
                type: "function_call";
            }) | (components["schemas"]["InputFunctionOutput"] & {
                /** @enum {unknown} */
                type: "function_call_output";
            }) | (components["schemas"]["InputCustomCall"] & {
                /** @enum {unknown} */
                type: "custom_tool_call";
            }) | (components["schemas"]["InputCustomOutput"] & {
                /** @enum {unknown} */
                type: "custom_tool_call_output";
            }) | (components["schemas"]["InputReasoning"] & {
                /** @enum {unknown} */
                type: "reasoning";
            }) | (components["schemas"]["InputCompaction"] & {
                /** @enum {unknown} */
                type: "compaction";
            }) | (components["schemas"]["InputSearchCall"] & {
                /** @enum {unknown} */
                type: "tool_search_call";
            }) | (components["schemas"]["InputSearchOutput"] & {
                /** @enum {unknown} */
                type: "tool_search_output";
            }) | (components["schemas"]["InputTools"] & {
                /** @enum {unknown} */
                type: "additional_tools";
            }) | (components["schemas"]["ItemReference"] & {
                /** @enum {unknown} */
                type: "item_reference";
            }) | (components["schemas"]["OtherItem"] & {
                type: string;
            }))[] | null;
            metadata?: {
                [key: string]: string;
            } | null;
        };
        NewConversationItems: {
            items: ((components["schemas"]["InputMessage"] & {
                /** @enum {unknown} */
                type?: "message";
            }) | (components["schemas"]["InputFunctionCall"] & {
                /** @enum {unknown} */
                type: "function_call";
            }) | (components["schemas"]["InputFunctionOutput"] & {
                /** @enum {unknown} */
                type: "function_call_output";
            }) | (components["schemas"]["InputCustomCall"] & {
                /** @enum {unknown} */
                type: "custom_tool_call";
            }) | (components["schemas"]["InputCustomOutput"] & {
                /** @enum {unknown} */
                type: "custom_tool_call_output";
            }) | (components["schemas"]["InputReasoning"] & {
                /** @enum {unknown} */
                type: "reasoning";
            }) | (components["schemas"]["InputCompaction"] & {
                /** @enum {unknown} */
                type: "compaction";
            }) | (components["schemas"]["InputSearchCall"] & {
                /** @enum {unknown} */
                type: "tool_search_call";
            }) | (components["schemas"]["InputSearchOutput"] & {
                /** @enum {unknown} */
                type: "tool_search_output";
            }) | (components["schemas"]["InputTools"] & {
                /** @enum {unknown} */
                type: "additional_tools";
            }) | (components["schemas"]["ItemReference"] & {
                /** @enum {unknown} */
                type: "item_reference";
            }) | (components["schemas"]["OtherItem"] & {
                type: string;
            }))[];
        };
        NewModel: {
            model: string;
        };
        NextJobObject: {
            assumedEnds: number;
            cached: components["schemas"]["CachedPromptObject"] | null;
            id: string;
            onlyReserveIsFree: boolean;
            priority: string;
            share: number;
            tenant: components["schemas"]["JobTenant"];
        };
        OidcAnswer: {
            code?: string | null;
            error?: string | null;
            iss?: string | null;
            state: string;
        };
        OidcBody: {
            admin?: boolean | null;
            base_path?: string | null;
            to?: string | null;
        };
        OkBody: {
            /** @enum {string} */
            status: "ok";
        };
        OllamaAnswer: {
            created_at: string;
            done: boolean;
            done_reason?: string;
            eval_count?: number;
            eval_duration?: number;
            load_duration?: number;
            logprobs?: {
                [key: string]: unknown;
            }[];
            message?: {
                [key: string]: unknown;
            };
            model: string;
            prompt_eval_count?: number;
            prompt_eval_duration?: number;
            response?: string;
            thinking?: string;
            total_duration?: number;
        };
        OllamaChatRequest: {
            allow_remote?: boolean | null;
            format?: unknown;
            keep_alive?: unknown;
            logprobs?: boolean | null;
            lora?: string | null;
            messages?: components["schemas"]["OllamaMessage"][] | null;
            model: string;
            options?: components["schemas"]["OllamaOptions"] | null;
            shift?: boolean | null;
            stream?: boolean | null;
            think?: unknown;
            tools?: ((components["schemas"]["OllamaTool"] & {
                /** @enum {unknown} */
                type?: "function";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[] | null;
            top_logprobs?: number | null;
            truncate?: boolean | null;
        };
        OllamaEmbedRequest: {
            allow_remote?: boolean | null;
            dimensions?: number | null;
            input?: string | string[] | null;
            keep_alive?: unknown;
            model: string;
            options?: unknown;
            truncate?: boolean | null;
        };
        OllamaEmbeddingsRequest: {
            allow_remote?: boolean | null;
            keep_alive?: unknown;
            model: string;
            options?: unknown;
            prompt?: string | null;
        };
        OllamaError: {
            code: string;
            error: string;
            param: string | null;
        };
        OllamaFunction: {
            description?: string | null;
            name: string;
            parameters?: {
                [key: string]: unknown;
            } | null;
            strict?: boolean | null;
        };
        OllamaGenerateRequest: {
            allow_remote?: boolean | null;
            context?: unknown;
            format?: unknown;
            images?: string[] | null;
            keep_alive?: unknown;
            logprobs?: boolean | null;
            lora?: string | null;
            model: string;
            options?: components["schemas"]["OllamaOptions"] | null;
            prompt?: string | null;
            raw?: boolean | null;
            shift?: boolean | null;
            stream?: boolean | null;
            suffix?: string | null;
            system?: string | null;
            template?: string | null;
            think?: unknown;
            top_logprobs?: number | null;
            truncate?: boolean | null;
        };
        OllamaMessage: {
            content?: string | null;
            images?: string[] | null;
            /** @enum {string} */
            role: "system" | "user" | "assistant" | "tool" | "developer";
            thinking?: string | null;
            tool_call_id?: string | null;
            tool_calls?: components["schemas"]["OllamaToolCall"][] | null;
            tool_name?: string | null;
        };
        OllamaModel: {
            capabilities: string[];
            details: {
                [key: string]: unknown;
            };
            model_info: {
                [key: string]: unknown;
            };
            modelfile: string;
            modified_at: string;
            parameters: string;
            template: string;
        };
        OllamaModels: {
            models: {
                [key: string]: unknown;
            }[];
        };
        OllamaOptions: {
            frequency_penalty?: number | null;
            min_p?: number | null;
            num_predict?: number | null;
            presence_penalty?: number | null;
            repeat_penalty?: number | null;
            seed?: number | null;
            stop?: string | string[] | null;
            temperature?: number | null;
            top_k?: number | null;
            top_p?: number | null;
        };
        OllamaShowRequest: {
            model?: string | null;
            name?: string | null;
        };
        OllamaTool: {
            function: components["schemas"]["OllamaFunction"];
        };
        OllamaToolCall: {
            function: components["schemas"]["CalledOllamaFunction"];
            id?: string | null;
        };
        OllamaVector: {
            embedding: number[];
        };
        OllamaVectors: {
            embeddings: number[][];
            load_duration?: number;
            model: string;
            prompt_eval_count?: number;
            total_duration?: number;
        };
        OllamaVersion: {
            version: string;
        };
        OpenTurn: {
            created_at: number;
            parent_id: string | null;
            response_id: string;
        };
        OperationEvent: {
            operation: components["schemas"]["OperationObject"];
            /** @enum {string} */
            type: "operation";
        };
        OperationList: {
            data: components["schemas"]["OperationObject"][];
            first_id: string | null;
            flower_url: string | null;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
        };
        OperationObject: {
            created_at: number;
            duration_s: number | null;
            error: string | null;
            error_code: string | null;
            eta_s: number | null;
            evicts: string | null;
            finished_at: number | null;
            id: string;
            /** @enum {string} */
            kind: "load" | "unload" | "flush" | "download" | "remove";
            load_override: {
                [key: string]: unknown;
            } | null;
            model: string | null;
            /** @enum {string} */
            object: "operation";
            progress: number;
            replicas: number;
            requested_by: components["schemas"]["Requester"] | null;
            restores: boolean;
            result: components["schemas"]["OperationResult"] | null;
            scope: components["schemas"]["FlushScopeObject"] | null;
            source: string | null;
            stage: string;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "failed" | "cancelled";
            task_ids: string[];
        };
        OperationResult: {
            context_tokens: number | null;
            deleted_bytes: number | null;
            duration_ms: number;
            entries_removed: number | null;
            memory_mib: number | null;
            reason: string | null;
            replicas: number;
        };
        OtherBlock: Record<string, never>;
        OtherInput: Record<string, never>;
        OtherItem: Record<string, never>;
        OtherPart: Record<string, never>;
        OtherTool: Record<string, never>;
        OutputConfig: {
            effort?: string | null;
            format?: (components["schemas"]["AnthropicJsonSchemaFormat"] & {
                /** @enum {unknown} */
                type: "json_schema";
            }) | null;
        };
        OutputExpiry: {
            /** @enum {string} */
            anchor: "created_at";
            seconds: number;
        };
        OutputTokensDetails: {
            thinking_tokens: number;
        };
        PaginationMetadata: {
            first_page?: number;
            last_page?: number;
            next_page?: number;
            page?: number;
            previous_page?: number;
            total?: number;
            total_pages?: number;
        };
        PairPresets: {
            fields: string[];
            /** @enum {string} */
            kind: "pair_presets";
            notes?: string[];
            recommended_pairs: {
                [key: string]: unknown;
            }[];
        };
        PlanContext: {
            field: string;
            inForce: number;
            largest: number | null;
            madeFor: number;
            reason: string | null;
            requested: number;
        };
        PlanDevice: {
            eligible: boolean;
            freeMB: number;
            freedByEvictionMB: number | null;
            neededMB: number | null;
            promisedMB: number;
            totalMB: number;
            worker: string;
        };
        PlanMemory: {
            devices: components["schemas"]["PlanDevice"][];
            kvCacheMB: number | null;
            neededMB: number | null;
            otherMB: number | null;
            /** @enum {string} */
            source: "observed_load_delta" | "model_artifact_size" | "unavailable";
            weightsMB: number | null;
        };
        PlanProblem: {
            code: string;
            message: string;
            param: string | null;
        };
        Properties: {
            bos_token?: string;
            build_info: string;
            chat_template?: string;
            chat_template_caps?: {
                [key: string]: unknown;
            };
            cors_proxy_enabled?: boolean;
            default_generation_settings: {
                [key: string]: unknown;
            };
            endpoint_metrics?: boolean;
            endpoint_props?: boolean;
            endpoint_slots?: boolean;
            eos_token?: string;
            is_sleeping?: boolean;
            max_instances?: number;
            modalities?: {
                [key: string]: unknown;
            };
            model_alias: string;
            model_path: string;
            models_autoload?: boolean;
            /** @enum {string} */
            role?: "router";
            total_slots?: number;
            ui?: boolean;
            ui_settings?: {
                [key: string]: unknown;
            };
            webui_settings?: {
                [key: string]: unknown;
            };
        };
        ProposalBody: {
            body: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            operation: "model-load" | "model-unload" | "cache-flush" | "model-add" | "model-remove" | "access-change";
        };
        ProposalChangedEvent: {
            at: number;
            from: string | null;
            id: string;
            message: string | null;
            operation: string;
            operation_id: string | null;
            proposal_id: string;
            signatures: number;
            threshold: number;
            to: string;
            /** @enum {string} */
            type: "proposal";
        };
        ProposalComparison: {
            changes: string[];
            holds: boolean;
            id: string;
            models: components["schemas"]["ModelNow"][];
            /** @enum {string} */
            object: "proposal_comparison";
            plan: {
                [key: string]: unknown;
            } | null;
            problem: components["schemas"]["ComparisonProblem"] | null;
        };
        ProposalList: {
            data: components["schemas"]["ProposalObject"][];
            next_cursor: string | null;
            /** @enum {string} */
            object: "list";
            waiting: number;
        };
        ProposalObject: {
            approved_at: number | null;
            body: {
                [key: string]: unknown;
            };
            body_digest: string;
            created_at: number;
            ended_at: number | null;
            expires_at: number;
            id: string;
            missing: number;
            /** @enum {string} */
            object: "proposal";
            /** @enum {string} */
            operation: "model-load" | "model-unload" | "cache-flush" | "model-add" | "model-remove" | "access-change";
            operation_id: string | null;
            payload: string;
            plan: {
                [key: string]: unknown;
            };
            plan_digest: string;
            proposer: components["schemas"]["ProposerObject"];
            reason: string | null;
            runner_id: string;
            signatures: components["schemas"]["SignatureObject"][];
            signers: string[];
            /** @enum {string} */
            status: "open" | "approved" | "started" | "withdrawn" | "expired" | "outdated";
            threshold: number;
        };
        ProposerObject: {
            actor: string;
            key: string | null;
            person: components["schemas"]["ProposerPerson"] | null;
            tenant: string;
        };
        ProposerPerson: {
            issuer: string;
            name: string;
            roles: string[];
            subject: string;
            tenant: string;
        };
        QueueListing: {
            models: components["schemas"]["QueuedModel"][];
        };
        QueuePlace: {
            estimatedWaitMs: number | null;
            id: string;
            model: string;
            /** @enum {string} */
            object: "queue.place";
            position: number | null;
            positionIsEstimate: boolean | null;
            queueDepth: number | null;
            reason: string | null;
            /** @enum {string} */
            status: "queued" | "running" | "completed" | "incomplete" | "failed" | "cancelled";
            waitedMs: number | null;
        };
        QueueState: {
            avgWaitMs: number | null;
            depth: number;
            maxDepth: number;
            p95WaitMs: number | null;
        };
        QueuedModel: {
            maxDepth: number;
            model: string;
            oldestWaitMs: number | null;
            queueDepth: number;
            running: number;
            slots: number;
            tenants: components["schemas"]["QueuedTenant"][];
        };
        QueuedTenant: {
            byPriority: {
                [key: string]: unknown;
            };
            oldestId: string | null;
            oldestWaitMs: number | null;
            queueDepth: number;
            running: number;
            tenant: string;
        };
        ReadAgainError: {
            error: unknown;
        };
        ReadyBody: {
            reason?: string;
            /** @enum {string} */
            status: "ready" | "not_ready";
        };
        Reasoning: {
            effort?: string | null;
            summary?: string | null;
        };
        Receipt: {
            admittedAt: number;
            answer: components["schemas"]["AnswerDigests"] | null;
            approvedBy: components["schemas"]["ReceiptLoad"] | null;
            definition: string | null;
            endedAt: number | null;
            keyId: string;
            loadedBy: components["schemas"]["ReceiptLoad"] | null;
            model: string;
            object?: unknown;
            publicKey: string;
            requestSha256: string;
            responseId: string;
            runner: string;
            signature: string;
            status: string;
            tenant: string;
        };
        ReceiptLoad: {
            actor: string;
            authority: string;
            loadedAt: number;
            operation: string;
            proposal?: string;
            signers?: string[];
        };
        RecentMetricsBody: {
            interval_s: number;
            models: components["schemas"]["ModelRates"][];
            now: number;
            samples: components["schemas"]["MetricSample"][];
        };
        RedactedThinkingBlock: {
            /** @enum {string} */
            type: "redacted_thinking";
        };
        RefusalCount: {
            code: string;
            last_5_minutes: number;
            last_hour: number;
            /** @enum {integer} */
            status: 429 | 503;
        };
        RefusalPart: {
            refusal: string;
            /** @enum {string} */
            type: "refusal";
        };
        RemovedTenant: {
            deleted: boolean;
            name: string;
            /** @enum {string} */
            object: "tenant";
            revoked_keys: number;
        };
        RenderedPrompt: {
            prompt: string;
        };
        ReplicaGpu: {
            index: number;
            name: string;
        };
        ReplicaObject: {
            accepts_requests: boolean;
            cache_capacity: number | null;
            cache_hit_rate: number | null;
            cache_unit: string | null;
            cached_tokens: number | null;
            gpus: components["schemas"]["ReplicaGpu"][];
            name: string;
            prompt_tokens: number | null;
            running_requests: number;
            slots: number;
            /** @enum {string} */
            state: "assigned" | "starting" | "up" | "stopping";
            worker: string;
        };
        RequestClient: {
            apiVersion?: string;
            contentType?: string;
            hasIdempotencyKey?: boolean;
            key?: string;
            path?: string;
            priority?: string;
            requestId?: string;
            retryCount?: string;
            sdkRuntime?: string;
            sdkVersion?: string;
            timeoutMs?: string;
            userAgent?: string;
        };
        RequestList: {
            data: components["schemas"]["RequestObject"][];
            has_more: boolean;
            next_after: string | null;
            /** @enum {string} */
            object: "list";
        };
        RequestObject: {
            api: string | null;
            client: components["schemas"]["RequestClient"];
            code: string | null;
            createdAt: number | null;
            dispatchedAt: number | null;
            dispatches: number;
            endedAt: number;
            finishReason: string | null;
            firstTokenMs: number | null;
            httpStatus: number | null;
            id: string;
            loadMs: number | null;
            model: string | null;
            movedFrom: string | null;
            /** @enum {string} */
            object: "request";
            /** @enum {string|null} */
            priority: "high" | "high_background" | "normal" | "normal_background" | "low" | null;
            replica: string | null;
            runMs: number | null;
            /** @enum {string} */
            status: "completed" | "incomplete" | "failed" | "cancelled" | "refused";
            tenant: string;
            tokens: components["schemas"]["RequestTokens"] | null;
            totalMs: number | null;
            waitedMs: number | null;
            worker: string | null;
        };
        RequestTextsObject: {
            answer: components["schemas"]["KeptText"];
            id: string;
            /** @enum {string} */
            object: "request.texts";
            prompt: components["schemas"]["KeptText"];
        };
        RequestTokens: {
            audioMs: number;
            cached: number;
            images: number;
            input: number;
            output: number;
            reasoning: number;
        };
        Requester: {
            actor: string;
            /** @enum {string} */
            authority: "admin key" | "tenant key" | "person" | "op token" | "proposal" | "platform";
            proposal: string | null;
            signers: string[];
        };
        RerankDocument: {
            text: string;
        };
        RerankObject: {
            id: string;
            model: string;
            /** @enum {string} */
            object: "list";
            results: {
                [key: string]: unknown;
            }[];
            usage: {
                [key: string]: unknown;
            };
        };
        RerankRequest: {
            allow_remote?: boolean | null;
            documents: (string | components["schemas"]["RerankDocument"])[];
            model?: string | null;
            query: string;
            return_documents?: boolean | null;
            top_n?: number | null;
        };
        Resources: {
            gpuIds: number[];
            gpuMemoryFreeMB: number;
            gpuMemoryTotalMB: number;
            gpuMemoryUsedMB: number;
            gpuUtilization: number | null;
            kvCacheSizeMB: number | null;
            kvCacheUtilization: number | null;
        };
        ResponseError: {
            code: string;
            message: string;
        };
        ResponseObject: {
            background: boolean;
            completed_at: number | null;
            conversation?: {
                [key: string]: unknown;
            };
            created_at: number;
            error: components["schemas"]["ResponseError"] | null;
            frequency_penalty: number;
            id: string;
            incomplete_details: {
                [key: string]: unknown;
            } | null;
            instructions: string | null;
            max_output_tokens: number | null;
            max_tool_calls: number | null;
            metadata: {
                [key: string]: string;
            };
            model: string;
            /** @enum {string} */
            object: "response";
            output: {
                [key: string]: unknown;
            }[];
            parallel_tool_calls: boolean;
            presence_penalty: number;
            previous_response_id: string | null;
            prompt_cache_key: string | null;
            reasoning: {
                [key: string]: unknown;
            };
            safety_identifier: string | null;
            service_tier: string;
            /** @enum {string} */
            status: "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
            store: boolean;
            temperature: number;
            text: {
                [key: string]: unknown;
            };
            tool_choice: unknown;
            tools: {
                [key: string]: unknown;
            }[];
            top_logprobs: number;
            top_p: number;
            truncation: string;
            usage: {
                [key: string]: unknown;
            } | null;
        };
        ResponsesRequest: {
            allow_remote?: boolean | null;
            background?: boolean | null;
            continue_final_message?: boolean | null;
            conversation?: string | components["schemas"]["ConversationReference"] | null;
            frequency_penalty?: number | null;
            include?: string[] | null;
            input?: string | ((components["schemas"]["InputMessage"] & {
                /** @enum {unknown} */
                type?: "message";
            }) | (components["schemas"]["InputFunctionCall"] & {
                /** @enum {unknown} */
                type: "function_call";
            }) | (components["schemas"]["InputFunctionOutput"] & {
                /** @enum {unknown} */
                type: "function_call_output";
            }) | (components["schemas"]["InputCustomCall"] & {
                /** @enum {unknown} */
                type: "custom_tool_call";
            }) | (components["schemas"]["InputCustomOutput"] & {
                /** @enum {unknown} */
                type: "custom_tool_call_output";
            }) | (components["schemas"]["InputReasoning"] & {
                /** @enum {unknown} */
                type: "reasoning";
            }) | (components["schemas"]["InputCompaction"] & {
                /** @enum {unknown} */
                type: "compaction";
            }) | (components["schemas"]["InputSearchCall"] & {
                /** @enum {unknown} */
                type: "tool_search_call";
            }) | (components["schemas"]["InputSearchOutput"] & {
                /** @enum {unknown} */
                type: "tool_search_output";
            }) | (components["schemas"]["InputTools"] & {
                /** @enum {unknown} */
                type: "additional_tools";
            }) | (components["schemas"]["ItemReference"] & {
                /** @enum {unknown} */
                type: "item_reference";
            }) | (components["schemas"]["OtherItem"] & {
                type: string;
            }))[] | null;
            instructions?: string | null;
            logit_bias?: Record<string, never> | null;
            lora?: string | null;
            max_output_tokens?: number | null;
            max_tool_calls?: number | null;
            messages?: components["schemas"]["ChatMessage"][] | null;
            metadata?: {
                [key: string]: string;
            } | null;
            min_p?: number | null;
            model: string;
            parallel_tool_calls?: boolean | null;
            presence_penalty?: number | null;
            previous_response_id?: string | null;
            prompt_cache_key?: string | null;
            reasoning?: components["schemas"]["Reasoning"] | null;
            repetition_penalty?: number | null;
            return_progress?: boolean | null;
            safety_identifier?: string | null;
            seed?: number | null;
            service_tier?: string | null;
            source_lang_code?: string | null;
            stop?: string | string[] | null;
            store?: boolean | null;
            stream?: boolean | null;
            target_lang_code?: string | null;
            temperature?: number | null;
            text?: components["schemas"]["TextOptions"] | null;
            thinking?: ("default" | "enabled" | "disabled") | components["schemas"]["ThinkingSwitch"] | null;
            tool_choice?: ("none" | "auto" | "required") | ((components["schemas"]["FunctionChoice"] & {
                /** @enum {unknown} */
                type: "function";
            }) | (components["schemas"]["CustomChoice"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["AllowedTools"] & {
                /** @enum {unknown} */
                type: "allowed_tools";
            })) | null;
            tools?: ((components["schemas"]["FunctionTool"] & {
                /** @enum {unknown} */
                type: "function";
            }) | (components["schemas"]["FreeformTool"] & {
                /** @enum {unknown} */
                type: "custom";
            }) | (components["schemas"]["NamespaceTool"] & {
                /** @enum {unknown} */
                type: "namespace";
            }) | (components["schemas"]["SearchTool"] & {
                /** @enum {unknown} */
                type: "tool_search";
            }) | (components["schemas"]["OtherTool"] & {
                type: string;
            }))[] | null;
            top_k?: number | null;
            top_logprobs?: number | null;
            top_p?: number | null;
            /** @enum {string|null} */
            truncation?: "auto" | "disabled" | null;
        } & (({
            input: unknown;
            messages?: null;
        } | {
            input?: null;
            messages: unknown;
        }) & ({
            input?: unknown;
        } | {
            conversation: Record<string, never>;
        }) & unknown & ({
            conversation?: null;
        } | {
            messages?: null;
            previous_response_id?: null;
            store?: unknown;
        }));
        RevokedKey: {
            deleted: boolean;
            id: string;
            /** @enum {string} */
            object: "api_key";
        };
        RunnerCapabilities: {
            capabilities: components["schemas"]["CapabilityFlags"];
            /** @enum {string} */
            health: "healthy" | "unhealthy";
            models: components["schemas"]["Models"];
            queue: components["schemas"]["QueueState"];
            resources: components["schemas"]["Resources"];
            runnerId: string;
            runnerType: string;
        };
        RunningRequest: {
            api: string;
            conversation_id: string | null;
            created_at: number;
            id: string;
            model: string;
            /** @enum {string} */
            object: "response";
            /** @enum {string} */
            status: "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
        };
        RunningRequests: {
            data: components["schemas"]["RunningRequest"][];
            has_more: boolean;
            next_after: string | null;
            /** @enum {string} */
            object: "list";
        };
        ScalingObject: {
            max: number;
            min: number;
        };
        SearchResultBlock: {
            content: components["schemas"]["TextBlock"][];
            source: string;
            title: string;
            /** @enum {string} */
            type: "search_result";
        };
        SearchTool: {
            description?: string | null;
            execution?: string | null;
            parameters?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            type: "tool_search";
        };
        Segment: {
            avg_logprob: number;
            compression_ratio: number;
            end: number;
            id: number;
            no_speech_prob: number;
            seek: number;
            start: number;
            temperature: number;
            text: string;
            tokens: number[];
        };
        SessionObject: {
            flower_url: string | null;
            key_scopes: string[];
            open: boolean;
            person: components["schemas"]["SessionPerson"] | null;
            provider: string | null;
            scopes: string[];
            signed_in: boolean;
            tenant: string | null;
            to?: string;
            version: string | null;
        };
        SessionPerson: {
            email: string | null;
            id: string;
            name: string;
            roles: ("viewer" | "operator" | "approver" | "admin")[];
        };
        SignInBody: {
            admin?: boolean | null;
            key?: string | null;
            link?: string | null;
            oidc?: components["schemas"]["OidcAnswer"] | null;
        };
        SignInLink: {
            expires_in_s: number;
            path: string;
            token: string;
        };
        SignatureBody: {
            kid?: string | null;
            signature: string;
            signer: string;
        };
        SignatureObject: {
            at: number;
            kid: string;
            signature: string;
            signer: string;
        };
        Slot: {
            id: number;
            is_processing: boolean;
            n_ctx: number;
            speculative: boolean;
        };
        SpeechRequest: {
            input: string;
            model: string;
            /** @enum {string|null} */
            response_format?: "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm" | null;
            speed?: number | null;
            /** @enum {string|null} */
            stream_format?: "audio" | "sse" | null;
            voice: string;
        };
        StateBody: {
            conversation_id?: string | null;
            filename?: string | null;
            model?: string | null;
        };
        StateChangedEvent: {
            at: number;
            code: string | null;
            /** @enum {string} */
            from: "unloaded" | "loading" | "loaded" | "unloading" | "failed";
            id: string;
            message: string | null;
            model: string;
            operation_id: string | null;
            /** @enum {string} */
            to: "unloaded" | "loading" | "loaded" | "unloading" | "failed";
            /** @enum {string} */
            type: "state";
        };
        StateObject: {
            filename?: string;
            id_slot: number;
            n_erased?: number;
            n_read?: number;
            n_restored?: number;
            n_saved?: number;
            n_written?: number;
            timings?: {
                [key: string]: unknown;
            };
        };
        StreamLookup: {
            conversation_ids: string[];
        };
        StreamOptions: {
            include_usage?: boolean | null;
        };
        StreamState: {
            completed_at: number;
            conversation_id: string;
            is_done: boolean;
            started_at: number;
            total_bytes: number;
        };
        StringOrNullConstraint: {
            allowed_values?: (string | null)[];
            default?: string | null;
            examples?: (string | null)[];
            format?: string;
            /** @enum {string} */
            kind: "string_or_null";
            null_means?: string;
        };
        StructuredOutputs: {
            choice?: unknown;
            grammar?: unknown;
            json?: {
                [key: string]: unknown;
            } | string | null;
            json_object?: boolean | null;
            regex?: unknown;
            structural_tag?: unknown;
            whitespace_pattern?: unknown;
        };
        Success: {
            success: boolean;
        };
        TemplateArguments: {
            enable_thinking?: boolean | null;
            reasoning_effort?: string | null;
            thinking?: boolean | null;
            thinking_budget?: number | null;
        };
        TenantBody: {
            budget_gpu_s?: number | null;
            budget_soft?: number | null;
            budget_tokens?: number | null;
            comfyui_workflows?: boolean | null;
            keep_texts?: boolean | null;
            max_bytes?: number | null;
            /** @enum {string|null} */
            max_priority?: "high" | "normal" | "low" | null;
            max_readers?: number | null;
            max_running?: number | null;
            max_streams?: number | null;
            max_waiting?: number | null;
            may_load?: boolean | null;
            name: string;
            rate_limit?: string | null;
            receipts?: boolean | null;
            token_limit?: string | null;
            weight?: number | null;
        };
        TenantFields: {
            budget_gpu_s?: number | null;
            budget_soft?: number | null;
            budget_tokens?: number | null;
            comfyui_workflows?: boolean | null;
            keep_texts?: boolean | null;
            max_bytes?: number | null;
            /** @enum {string|null} */
            max_priority?: "high" | "normal" | "low" | null;
            max_readers?: number | null;
            max_running?: number | null;
            max_streams?: number | null;
            max_waiting?: number | null;
            may_load?: boolean | null;
            rate_limit?: string | null;
            receipts?: boolean | null;
            token_limit?: string | null;
            weight?: number | null;
        };
        TenantLimits: {
            at_limit: ("requests" | "tokens" | "running" | "waiting" | "bytes" | "budget")[];
            budget: components["schemas"]["BudgetUse"] | null;
            bytes: components["schemas"]["CountUse"];
            /** @enum {string} */
            object: "tenant.limits";
            refusals: components["schemas"]["RefusalCount"][];
            requests: components["schemas"]["WindowUse"] | null;
            running: components["schemas"]["CountUse"];
            tenant: string;
            tokens: components["schemas"]["WindowUse"] | null;
            waiting: components["schemas"]["WaitingUse"];
        };
        TenantLimitsList: {
            data: components["schemas"]["TenantLimits"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
        };
        TenantList: {
            data: components["schemas"]["TenantObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            needs_proposal: boolean;
            /** @enum {string} */
            object: "list";
        };
        TenantObject: {
            budget_gpu_s: number | null;
            budget_soft: number | null;
            budget_tokens: number | null;
            comfyui_workflows: boolean;
            configured: string[];
            created_at: number | null;
            ignored: string[];
            is_configured: boolean;
            keep_texts: boolean;
            keys: number;
            max_bytes: number | null;
            /** @enum {string} */
            max_priority: "high" | "normal" | "low";
            max_readers: number | null;
            max_running: number | null;
            max_streams: number | null;
            max_waiting: number | null;
            may_load: boolean;
            name: string;
            /** @enum {string} */
            object: "tenant";
            rate_limit: string | null;
            receipts: boolean;
            token_limit: string | null;
            weight: number;
        };
        TextBlock: {
            text: string;
            /** @enum {string} */
            type: "text";
        };
        TextCompletion: {
            choices: {
                [key: string]: unknown;
            }[];
            created: number;
            id: string;
            model: string;
            /** @enum {string} */
            object: "text_completion";
            usage: {
                [key: string]: unknown;
            } | null;
        };
        TextFormat: {
            /** @enum {string|null} */
            type?: "text" | null;
        };
        TextInput: {
            /** @enum {string} */
            type: "text";
        };
        TextOptions: {
            format?: (components["schemas"]["TextFormat"] & {
                /** @enum {unknown} */
                type?: "text";
            }) | (components["schemas"]["JsonObjectFormat"] & {
                /** @enum {unknown} */
                type: "json_object";
            }) | (components["schemas"]["JsonSchemaFormat"] & {
                /** @enum {unknown} */
                type: "json_schema";
            }) | null;
            verbosity?: string | null;
        };
        TextPart: {
            text: string;
            /** @enum {string|null} */
            type?: "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text" | null;
        };
        TextSource: {
            data: string;
            /** @enum {string} */
            media_type: "text/plain";
            /** @enum {string} */
            type: "text";
        };
        Thinking: {
            budget_tokens?: number | null;
            /** @enum {string} */
            type: "enabled" | "disabled" | "adaptive";
        };
        ThinkingBlock: {
            signature?: string | null;
            thinking: string;
            /** @enum {string} */
            type: "thinking";
        };
        ThinkingSwitch: {
            /** @enum {string} */
            type: "default" | "enabled" | "disabled" | "auto" | "adaptive";
        };
        TimeUse: {
            most: number | null;
            used: number;
        };
        TimedWord: {
            end: number;
            start: number;
            word: string;
        };
        TokenCountObject: {
            input_tokens: number;
        };
        TokenList: {
            tokens: unknown[];
        };
        TokenText: {
            content: string;
        };
        TokenizeRequest: {
            add_special?: boolean | null;
            content?: string | (string | number)[] | null;
            model?: string | null;
            parse_special?: boolean | null;
            with_pieces?: boolean | null;
        };
        Tool: {
            definition: {
                [key: string]: unknown;
            };
            display_name: string;
            permissions: {
                [key: string]: unknown;
            };
            tool: string;
            /** @enum {string} */
            type: "builtin" | "mcp";
            uses_cwd: boolean;
        };
        ToolCall: {
            params?: {
                [key: string]: unknown;
            } | null;
            stream?: boolean | null;
            tool: string;
        };
        ToolChoice: {
            disable_parallel_tool_use?: boolean | null;
            name: string;
            /** @enum {string} */
            type: "tool";
        };
        ToolReferenceBlock: {
            tool_name: string;
            /** @enum {string} */
            type: "tool_reference";
        };
        ToolResult: {
            base?: string;
            base64?: string;
            bytes?: number;
            edits_applied?: number;
            entries?: components["schemas"]["FoundEntry"][];
            error?: string;
            path?: string;
            plain_text_response?: string;
            result?: string;
            size_bytes?: number;
        };
        ToolResultBlock: {
            content?: string | ((components["schemas"]["TextBlock"] & {
                /** @enum {unknown} */
                type: "text";
            }) | (components["schemas"]["ImageBlock"] & {
                /** @enum {unknown} */
                type: "image";
            }) | (components["schemas"]["DocumentBlock"] & {
                /** @enum {unknown} */
                type: "document";
            }) | (components["schemas"]["SearchResultBlock"] & {
                /** @enum {unknown} */
                type: "search_result";
            }) | (components["schemas"]["ToolReferenceBlock"] & {
                /** @enum {unknown} */
                type: "tool_reference";
            }))[] | null;
            is_error?: boolean | null;
            tool_use_id: string;
            /** @enum {string} */
            type: "tool_result";
        };
        ToolUseBlock: {
            id: string;
            input: {
                [key: string]: unknown;
            };
            name: string;
            /** @enum {string} */
            type: "tool_use";
        };
        ToolsError: {
            error: components["schemas"]["ToolsErrorObject"];
        };
        ToolsErrorObject: {
            code?: number;
            message: string;
            type: string;
        };
        TranscriptionForm: {
            /** Format: binary */
            file: string;
            language?: string | null;
            model: string;
            prompt?: string | null;
            /** @enum {string|null} */
            response_format?: "json" | "verbose_json" | "text" | "srt" | "vtt" | null;
            stream?: boolean | null;
            temperature?: number | null;
            timestamp_granularities?: ("word" | "segment")[] | null;
            vad_filter?: boolean | null;
        };
        TranscriptionObject: {
            duration?: number;
            language?: string;
            segments?: components["schemas"]["Segment"][];
            /** @enum {string} */
            task?: "transcribe" | "translate";
            text: string;
            usage?: {
                [key: string]: unknown;
            };
            words?: components["schemas"]["TimedWord"][];
        };
        TranslationForm: {
            /** Format: binary */
            file: string;
            model: string;
            prompt?: string | null;
            /** @enum {string|null} */
            response_format?: "json" | "verbose_json" | "text" | "srt" | "vtt" | null;
            stream?: boolean | null;
            temperature?: number | null;
            vad_filter?: boolean | null;
        };
        UnloadPlan: {
            begins: boolean;
            covers: {
                [key: string]: unknown;
            };
            definitionDigest: string;
            digest: string;
            eta: number | null;
            freesMB: number | null;
            modelId: string;
            /** @enum {string} */
            operation: "model-unload";
            override: {
                [key: string]: unknown;
            };
            problem: components["schemas"]["PlanProblem"] | null;
            reload: number | null;
            replicas: number;
            runningRequests: number;
            state: string;
            waitingRequests: number;
        };
        UnloadTask: {
            error?: string;
            errorCode?: string;
            eta?: number | null;
            gpuMemoryFreedMB?: number | null;
            kvCacheFlushed?: boolean;
            modelId?: string;
            progress?: number;
            stage?: string;
            /** @enum {string} */
            status: "unloading" | "completed" | "failed" | "cancelled";
            taskId: string | null;
        };
        UnreadableModelObject: {
            name: string;
            problem: string;
        };
        UsageReport: {
            data: components["schemas"]["UsageRow"][];
            /** Format: date */
            first_day: string;
            /** Format: date */
            last_day: string;
            object?: unknown;
            totals: components["schemas"]["UsageTotals"];
        };
        UsageRow: {
            audio_seconds: number;
            cached_tokens: number;
            /** Format: date */
            day: string;
            gpu_ms: number;
            images: number;
            input_tokens: number;
            model: string;
            output_tokens: number;
            pixel_steps: number;
            queue_ms: number;
            requests: number;
            succeeded: number;
            tenant: string;
        };
        UsageTotals: {
            audio_seconds: number;
            cached_tokens: number;
            gpu_ms: number;
            images: number;
            input_tokens: number;
            output_tokens: number;
            pixel_steps: number;
            queue_ms: number;
            requests: number;
            succeeded: number;
        };
        WaitingUse: {
            all_models: number;
            model: string | null;
            most: number;
            used: number;
        };
        WebhookTargetList: {
            data: components["schemas"]["WebhookTargetObject"][];
            /** @enum {string} */
            object: "list";
        };
        WebhookTargetObject: {
            delivered: number;
            delivered_at: number | null;
            events: string[];
            failed: number;
            failed_at: number | null;
            failing_since: number | null;
            given_up: number;
            host: string;
            left_out: number;
            name: string;
            problem: string | null;
            tenant: string | null;
            waiting: number;
        };
        WebhookTest: {
            delivered: boolean;
            /** @enum {string} */
            object: "webhook.test";
            problem: string | null;
            target: string;
        };
        WholeAnswer: Record<string, never>;
        WindowUse: {
            at_once: number;
            most: number;
            remaining: number;
            reset_s: number;
            window_s: number;
        };
        WorkerDrain: {
            actor: string | null;
            at: number | null;
            /** @enum {string} */
            cause: "operator" | "shutdown";
        };
        WorkerGpu: {
            index: number;
            name: string;
            power_limit_w: number | null;
            power_w: number | null;
            temperature_c: number | null;
            total_mib: number;
            used_mib: number;
            utilization: number | null;
            uuid: string;
        };
        WorkerList: {
            data: components["schemas"]["WorkerObject"][];
            first_id: string | null;
            has_more: boolean;
            last_id: string | null;
            /** @enum {string} */
            object: "list";
        };
        WorkerMemory: {
            /** @enum {string} */
            device: "cuda" | "cpu";
            free_mib: number | null;
            name: string;
            promised_mib: number;
            total_mib: number | null;
        };
        WorkerObject: {
            cuda_visible_devices: string | null;
            device: string | null;
            drain: components["schemas"]["WorkerDrain"] | null;
            gpus: components["schemas"]["WorkerGpu"][];
            heartbeat_age_s: number | null;
            host: string | null;
            lost_at: number | null;
            memory: components["schemas"]["HostedMemory"] | null;
            name: string;
            pid: number | null;
            registered_at: number | null;
            replica_count: number;
            replicas: components["schemas"]["WorkerReplica"][];
            /** @enum {string} */
            state: "live" | "lost" | "away";
            versions: components["schemas"]["WorkerVersions"];
        };
        WorkerReplica: {
            engine_version: string | null;
            kv_cache_use: number | null;
            memory_mib: number | null;
            model: string;
            name: string;
            pid: number | null;
            promised_mib: number | null;
            ready: boolean;
            slots: number;
            slots_used: number;
            stalled: boolean;
            /** @enum {string} */
            state: "assigned" | "starting" | "up" | "stopping";
            up_at: number | null;
        };
        WorkerVersions: {
            driver: string | null;
            environments: {
                [key: string]: string;
            };
            python: string | null;
            stoker: string | null;
        };
        WorkflowImage: {
            bytes: number;
            cached: boolean;
            content_type: string;
            height: number;
            index: number;
            url: string | null;
            width: number;
        };
        WorkflowObject: {
            created_at: number;
            error: {
                [key: string]: unknown;
            } | null;
            id: string;
            images: components["schemas"]["WorkflowImage"][];
            model: string;
            /** @enum {string} */
            object: "comfyui.prompt";
            progress: components["schemas"]["WorkflowProgress"] | null;
            /** @enum {string} */
            status: "queued" | "in_progress" | "completed" | "failed" | "cancelled";
            usage: components["schemas"]["WorkflowUsage"] | null;
        };
        WorkflowProgress: {
            done: number;
            total: number;
        };
        WorkflowRequest: {
            background?: boolean | null;
            inputs?: {
                [key: string]: unknown;
            } | null;
            model: string;
            partial_images?: number | null;
            prompt: {
                [key: string]: unknown;
            };
            stream?: boolean | null;
        };
        WorkflowUsage: {
            images: number;
            pixel_steps: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    create_chat: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OllamaChatRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaAnswer"];
                    "application/x-ndjson": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    create_ollama_vectors: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OllamaEmbedRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaVectors"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    create_ollama_vector: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OllamaEmbeddingsRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaVector"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    create_text: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OllamaGenerateRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaAnswer"];
                    "application/x-ndjson": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    list_loaded: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaModels"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    show_model: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OllamaShowRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaModel"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    list_tags: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaModels"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    ollama_version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaVersion"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OllamaError"];
                };
            };
        };
    };
    apply_template: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApplyTemplateRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RenderedPrompt"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    create_native_completion: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NativeCompletionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NativeCompletion"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    get_by_proxy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
        };
    };
    post_by_proxy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
        };
    };
    detokenize: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DetokenizeRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenText"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    create_embedding: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["EmbeddingRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IndexedVectors"][];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    create_own_embeddings: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["EmbeddingRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IndexedVectors"][];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    check_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthBody"];
                };
            };
        };
    };
    create_infill: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InfillRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NativeCompletion"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    check_liveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_lora_adapters: {
        parameters: {
            query?: {
                model?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoraAdapter"][];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    scale_lora_adapters: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    show_metrics: {
        parameters: {
            query?: {
                model?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_router_models: {
        parameters: {
            query?: {
                limit?: number;
                after_id?: string;
                before_id?: string;
                reload?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    download_router_model: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewModel"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    remove_router_model: {
        parameters: {
            query?: {
                model?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    load_router_model: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NamedModel"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    follow_router_events: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    unload_router_model: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NamedModel"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    show_properties: {
        parameters: {
            query?: {
                model?: string;
                autoload?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Properties"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    change_properties: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    check_readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadyBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadyBody"];
                };
            };
        };
    };
    create_rerank_at_root: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RerankRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RerankObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_slots: {
        parameters: {
            query?: {
                model?: string;
                autoload?: string;
                fail_on_no_slot?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Slot"][];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    act_on_state: {
        parameters: {
            query: {
                action: "save" | "restore" | "erase";
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
            };
            path: {
                slot: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StateBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    tokenize: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TokenizeRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    list_tools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"][];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
        };
    };
    call_tool: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolCall"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolResult"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
        };
    };
    show_account: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_own_keys: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_own_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrowserSessionList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    end_own_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSession"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_own_usage: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                group_by?: string;
                format?: "json" | "csv";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyUsageReport"];
                    "text/csv": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_alerts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    acknowledge_alert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AcknowledgementBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    end_acknowledgement: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    flush_cache: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FlushBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationObject"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    plan_cache_flush: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FlushBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlushPlan"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_changes: {
        parameters: {
            query?: {
                model?: string;
                limit?: number;
                before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    follow_events: {
        parameters: {
            query?: {
                follow?: boolean;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["ModelEvent"] | components["schemas"]["ModelRemovedEvent"] | components["schemas"]["GpuMemoryEvent"] | components["schemas"]["OperationEvent"] | components["schemas"]["StateChangedEvent"] | components["schemas"]["CatalogueChangedEvent"] | components["schemas"]["ProposalChangedEvent"] | components["schemas"]["AlertChangedEvent"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_gpu_memory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GpuMemory"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_hub_files: {
        parameters: {
            query: {
                source: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HubFiles"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    search_hub_models: {
        parameters: {
            query?: {
                search?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HubModelList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                model?: string;
                tenant?: string;
                status?: "running" | "queued";
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetails"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_keys: {
        parameters: {
            query?: {
                tenant?: string;
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevokedKey"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    change_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeyFields"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_tenant_limits: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantLimitsList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_recent_metrics: {
        parameters: {
            query?: {
                span_s?: number;
                limit?: number;
                after?: number;
                model?: string;
                tenant?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecentMetricsBody"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_admin_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminModelList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    add_admin_model: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdditionBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedModel"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedModel"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedModel"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    plan_admin_model: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdditionBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdditionPlanObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_admin_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelDetail"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    remove_admin_model: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedModel"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedModel"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    load_model: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LoadRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedModel"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedModel"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    plan_admin_load: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LoadRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadPlan"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    read_engine_log: {
        parameters: {
            query?: {
                replica?: string;
                operation?: string;
                after?: string;
                limit?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EngineLog"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    unload_model: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedModel"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedModel"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    plan_admin_unload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnloadPlan"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_operations: {
        parameters: {
            query?: {
                kind?: "load" | "unload" | "flush" | "download" | "remove";
                model?: string;
                status?: "open" | "pending" | "running" | "completed" | "failed" | "cancelled";
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_operation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cancel_operation: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedModel"] | components["schemas"]["AddedModel"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedModel"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_queues: {
        parameters: {
            query?: {
                model?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueListing"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cancel_tenants_requests: {
        parameters: {
            query: {
                tenant: string;
                model?: string;
                running?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelledTenant"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cancel_request: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelledRequest"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_requests: {
        parameters: {
            query?: {
                tenant?: string;
                model?: string;
                status?: "completed" | "incomplete" | "failed" | "cancelled" | "refused";
                code?: string;
                since?: string;
                until?: string;
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_request: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_request_texts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestTextsObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrowserSessionList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSession"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_tenants: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    add_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    remove_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovedTenant"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    change_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TenantFields"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_tenant_limits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantLimits"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_tenant_usage: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                group_by?: string;
                format?: "json" | "csv";
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyUsageReport"];
                    "text/csv": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_usage: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                tenant?: string;
                model?: string;
                format?: "json" | "csv";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageReport"];
                    "text/csv": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTargetList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTest"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_workers: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_worker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    drain_worker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    end_drain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_speech: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SpeechRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "audio/aac": string;
                    "audio/flac": string;
                    "audio/mpeg": string;
                    "audio/ogg": string;
                    "audio/pcm": string;
                    "audio/wav": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_transcription: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["TranscriptionForm"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TranscriptionObject"];
                    "text/event-stream": unknown;
                    "text/plain": string;
                    "text/vtt": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_translation: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["TranslationForm"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TranscriptionObject"];
                    "text/event-stream": unknown;
                    "text/plain": string;
                    "text/vtt": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_batches: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cancel_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    flush_cache_governed: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CacheFlushBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlushTask"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlushTask"] | components["schemas"]["ProposalObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_flush_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlushTask"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    describe_capabilities: {
        parameters: {
            query?: never;
            header?: {
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerCapabilities"];
                };
            };
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_chat_completion: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    control_completion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ControlRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ControlAnswer"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    count_chat_input_tokens: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InputTokensObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    run_workflow: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkflowRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowObject"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_workflow: {
        parameters: {
            query?: {
                stream?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowObject"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedWorkflow"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_completion: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompletionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TextCompletion"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_conversations: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewConversation"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    update_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ConversationChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedConversation"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_conversation_items: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
                order?: "asc" | "desc";
                leaf?: string;
            };
            header?: never;
            path: {
                conversation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationItemList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_conversation_items: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewConversationItems"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationItemList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_conversation_item: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conversation_id: string;
                item_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationItem"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_conversation_item: {
        parameters: {
            query?: {
                descendants?: boolean;
            };
            header?: never;
            path: {
                conversation_id: string;
                item_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_embeddings: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingsRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingsObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_files: {
        parameters: {
            query?: {
                purpose?: "assistants" | "batch" | "user_data" | "vision" | "batch_output";
                order?: "asc" | "desc";
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    upload_file: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** @enum {string} */
                    "expires_after[anchor]"?: "created_at";
                    "expires_after[seconds]"?: number;
                    /** Format: binary */
                    file: string;
                    /** @enum {string} */
                    purpose: "assistants" | "batch" | "user_data" | "vision";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedFile"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_file_content: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_audit_records: {
        parameters: {
            query?: {
                limit?: number;
                after?: number;
                actor?: string;
                authority?: string;
                action?: string;
                subject?: string;
                outcome?: string;
                since?: string;
                until?: string;
                order?: "oldest" | "newest";
                format?: "json" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                    "application/x-ndjson": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_audit_head: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditHead"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_proposals: {
        parameters: {
            query?: {
                status?: "open" | "approved" | "started" | "withdrawn" | "expired" | "outdated";
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProposalBody"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    withdraw_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    compare_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalComparison"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    sign_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignatureBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_receipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    check_health_as_llama_server: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OkBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    edit_image: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["ImageEditForm"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImagesObject"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_image: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImageRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImagesObject"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_media: {
        parameters: {
            query?: {
                expires?: string;
                signature?: string;
            };
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_message: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessagesRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageObject"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    list_message_batches: {
        parameters: {
            query?: {
                limit?: number;
                after_id?: string;
                before_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageBatchList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    create_message_batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageBatchRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageBatchObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    retrieve_message_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageBatchObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    delete_message_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedMessageBatch"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    cancel_message_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageBatchObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    retrieve_message_batch_results: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                batch_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-jsonl": string;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    count_message_tokens: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CountTokensRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenCountObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnthropicError"];
                };
            };
        };
    };
    list_models: {
        parameters: {
            query?: {
                limit?: number;
                after_id?: string;
                before_id?: string;
                reload?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    load_model_governed: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelLoadBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadTask"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadTask"] | components["schemas"]["ProposalObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    plan_load_governed: {
        parameters: {
            query: {
                modelId: string;
                quantization?: string;
                maxContextLength?: number;
                gpuMemoryBudgetMB?: number;
                evictModel?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadPlan"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_load_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadTask"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    unload_model_governed: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelUnloadBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnloadTask"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnloadTask"] | components["schemas"]["ProposalObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_unload_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnloadTask"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_properties_v1: {
        parameters: {
            query?: {
                model?: string;
                autoload?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Properties"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    retrieve_queue_place: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuePlace"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_rerank: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RerankRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RerankObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_running: {
        parameters: {
            query?: {
                status?: "in_progress";
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunningRequests"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_response: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
                "X-Conversation-Id"?: string;
                "X-On-Disconnect"?: "cancel" | "finish" | "detach";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResponsesRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResponseObject"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    compact_conversation: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompactRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactedResponse"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    count_input_tokens: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResponsesRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InputTokensObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retrieve_response: {
        parameters: {
            query?: {
                stream?: boolean;
                starting_after?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResponseObject"];
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_response: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedResponse"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cancel_response: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResponseObject"] | components["schemas"]["RunningRequest"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    detach_request: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunningRequest"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_input_items: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
                order?: "asc" | "desc";
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InputItemList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_session: {
        parameters: {
            query?: never;
            header?: {
                "X-Stoker-UI"?: "1";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionObject"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    sign_in: {
        parameters: {
            query?: never;
            header?: {
                "X-Stoker-UI"?: "1";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SignInBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    sign_out: {
        parameters: {
            query?: never;
            header?: {
                "X-Stoker-UI"?: "1";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionObject"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_sign_in_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInLink"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    begin_oidc_sign_in: {
        parameters: {
            query?: never;
            header?: {
                "X-Stoker-UI"?: "1";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OidcBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuthorizationUrl"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    read_stream_by_query: {
        parameters: {
            query?: {
                conv_id?: string;
                from?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeAnswer"];
                    "application/octet-stream": string;
                    "application/x-ndjson": string;
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
        };
    };
    end_stream_by_query: {
        parameters: {
            query?: {
                conv_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    read_stream: {
        parameters: {
            query?: {
                from?: number;
            };
            header?: never;
            path: {
                conv_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Cache-Hit"?: boolean;
                    "X-Cache-Tokens-Reused"?: number;
                    "X-GPU-Time-Ms"?: number;
                    "X-Queue-Wait-Ms"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeAnswer"];
                    "application/octet-stream": string;
                    "application/x-ndjson": string;
                    "text/event-stream": unknown;
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAgainError"];
                };
            };
        };
    };
    end_stream: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                conv_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    look_up_streams: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StreamLookup"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamState"][];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LlamaServerError"];
                };
            };
        };
    };
    list_tools_for_pages: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"][];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
        };
    };
    call_tool_v1: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolCall"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolResult"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsError"];
                };
            };
        };
    };
    create_rerank_v2: {
        parameters: {
            query?: {
                autoload?: string;
            };
            header?: {
                "X-Priority"?: "high" | "normal" | "low";
                "X-Request-Timeout-Ms"?: number;
                "Idempotency-Key"?: string;
                "X-Cache-Mode"?: "prefix" | "none" | "auto";
                "X-Cache-Tag"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RerankRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RerankObject"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            503: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
}
