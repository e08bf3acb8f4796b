import { duration } from '$lib/services/duration';
import { policyRank, policyText } from '$lib/services/load_policy';
import { actionsOf, slotsOf, type Model } from '$lib/services/models';
import type { Rates } from '$lib/services/model_rates';
import type { TableModel } from '$lib/services/table';
import type { HostedReplica, Worker } from '$lib/services/workers';
import { configuredOf } from '$lib/services/model_facts';
import { text } from '$lib/text';

const words = text.models;
const STATES = ['failed', 'loading', 'unloading', 'loaded', 'unloaded'] as const;

/** A replica with the place that it is at. */
export interface PlacedReplica {
	worker: string;
	/** The indices of the GPUs of its worker. */
	gpus: readonly number[];
	replica: HostedReplica;
}

/** A model with what else is known of it. */
export interface ModelRow {
	model: Model;
	rates: Rates | undefined;
	placed: readonly PlacedReplica[];
}

/** The replicas of each model, by the names of the workers. */
export function placedReplicas(workers: readonly Worker[]): Map<string, PlacedReplica[]> {
	const found = new Map<string, PlacedReplica[]>();
	for (const worker of workers) {
		const gpus = worker.gpus.map(({ index }) => index);
		for (const replica of worker.replicas) {
			const placed = { worker: worker.name, gpus, replica };
			const known = found.get(replica.model);
			if (known) known.push(placed);
			else found.set(replica.model, [placed]);
		}
	}
	return found;
}

/** A replica as a dot, with its state and its place in words. */
export interface Dot {
	key: string;
	tone: 'good' | 'wait' | 'bad' | 'missing';
	label: string;
}

/** The tone of a replica's dot. */
export function dotTone({ stalled, state, ready }: HostedReplica): 'good' | 'wait' | 'bad' {
	if (stalled) return 'bad';
	return state === 'up' && ready ? 'good' : 'wait';
}

/** The state of a replica and its place in words. */
export function dotText({ replica, worker, gpus }: PlacedReplica): string {
	const state = replica.stalled ? text.workers.stalled : text.workers.replicaStates[replica.state];
	return words.dot(state, words.place(worker, gpus));
}

/** How many replicas of the load in effect are missing. */
export function missingReplicas({ runtime_state, replicas, loaded_replicas }: Model): number {
	return runtime_state === 'loaded' ? Math.max(0, replicas - loaded_replicas) : 0;
}

/** A dot for each replica of a model, and one for those that are missing. */
export function dotsOf({ model, placed }: ModelRow): Dot[] {
	const dots: Dot[] = placed.map((one) => ({ key: one.replica.name, tone: dotTone(one.replica), label: dotText(one) }));
	const missing = missingReplicas(model);
	return missing > 0 ? [...dots, { key: 'missing', tone: 'missing', label: words.missing(missing) }] : dots;
}

/** The path or the id of a model's weights; null for one without files. */
export function fileOf({ definition }: Model): string | null {
	const path = definition['model_path'];
	return typeof path === 'string' && path !== '' ? path : null;
}

/** The last part of a path. */
export function fileName(path: string): string {
	return path.split('/').filter(Boolean).at(-1) ?? path;
}

const METHODS = ['vllm_quantization', 'tgi_quantize'] as const;
const LABEL =
	/(?:^|[^a-z0-9])((?:ud-)?i?q[1-8](?:_[a-z0-9]+)*|[bf]p?f?(?:16|32)|fp8|nf4|mxfp4|nvfp4|int[48]|awq|gptq|exl[23]|\d(?:\.\d+)?bpw)(?=$|[^a-z0-9])/gi;

/** The type of the weights: as configured, or as the name of the file says it; null if neither does. */
export function quantizationOf(model: Model): string | null {
	for (const name of METHODS) {
		const method = { ...model.definition, ...model.load_override }[name];
		if (typeof method === 'string') return method.toUpperCase();
	}
	const found = [...(fileOf(model)?.replace(/\.gguf$/i, '') ?? '').matchAll(LABEL)].at(-1)?.[1];
	return found?.toUpperCase() ?? null;
}

/** The share of the KV cache in use, of the replica that uses the most; null if none reports it. */
export function cacheUseOf({ placed }: ModelRow): number | null {
	const shares = placed.map(({ replica }) => replica.kv_cache_use).filter((share) => share !== null);
	return shares.length > 0 ? Math.max(...shares) : null;
}

/** How long a model is loaded, in seconds. */
export function loadedFor({ loaded_at, runtime_state }: Model, nowMs: number): number | null {
	return loaded_at === null || runtime_state !== 'loaded' ? null : Math.max(0, nowMs / 1_000 - loaded_at);
}

/** An age that does not change each second: hours, minutes, and seconds below one minute. */
export function age(seconds: number): string {
	return duration(seconds < 60 ? seconds : seconds - (seconds % 60));
}

/** A time in ms: `240 ms`, `1.4 s`. */
export function milliseconds(ms: number): string {
	return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Whether there is news of a model that needs a line of its own: an error, a load, waiting requests, an override. */
export function hasNews({ model }: ModelRow): boolean {
	return (
		model.last_error !== null ||
		model.runtime_state === 'loading' ||
		model.runtime_state === 'unloading' ||
		(model.runtime_state === 'unloaded' && model.queue_depth > 0) ||
		Object.keys(model.load_override).length > 0
	);
}

const columns = words.columns;

export const MODEL_TABLE: TableModel<ModelRow> = {
	columns: [
		{ id: 'name', title: columns.name, value: ({ model }) => model.name, shown: 'always', card: 'name' },
		{ id: 'state', title: columns.state, value: ({ model }) => STATES.indexOf(model.runtime_state), card: 'fact' },
		{ id: 'replicas', title: columns.replicas, value: ({ model }) => model.loaded_replicas, isLargestFirst: true, card: 'fact' },
		{ id: 'policy', title: columns.policy, value: ({ model }) => policyRank(model) },
		{
			id: 'slots',
			title: columns.slots,
			value: ({ model }) => model.queue_depth * 1e6 + model.inflight_requests,
			isLargestFirst: true,
			card: 'fact'
		},
		{ id: 'file', title: columns.file, value: ({ model }) => fileOf(model), shown: 'chosen' },
		{ id: 'quantization', title: columns.quantization, value: ({ model }) => quantizationOf(model) },
		{ id: 'size', title: columns.size, value: ({ model }) => model.size_mib, isLargestFirst: true, isNumber: true },
		{ id: 'context', title: columns.context, value: ({ model }) => model.context_tokens, isLargestFirst: true, isNumber: true },
		{
			id: 'memory',
			title: columns.memory,
			value: ({ model }) => model.vram_estimate_mib,
			isLargestFirst: true,
			isNumber: true,
			card: 'fact'
		},
		{
			id: 'weights',
			title: columns.weights,
			value: ({ model }) => model.memory_parts?.weights_mib ?? null,
			isLargestFirst: true,
			isNumber: true,
			shown: 'chosen'
		},
		{
			id: 'cache',
			title: columns.cache,
			value: ({ model }) => model.memory_parts?.cache_mib ?? null,
			isLargestFirst: true,
			isNumber: true,
			shown: 'chosen'
		},
		{ id: 'cacheUse', title: columns.cacheUse, value: cacheUseOf, isLargestFirst: true, isNumber: true, shown: 'chosen' },
		{ id: 'input', title: columns.input, value: ({ model }) => model.capabilities.modalities.join(', '), shown: 'chosen' },
		{
			id: 'speed',
			title: columns.speed,
			value: ({ rates }) => rates?.output_tokens_per_s ?? null,
			isLargestFirst: true,
			isNumber: true,
			card: 'fact'
		},
		{
			id: 'firstToken',
			title: columns.firstToken,
			value: ({ rates }) => rates?.first_token_p95_ms ?? null,
			isLargestFirst: true,
			isNumber: true
		},
		{ id: 'cacheHits', title: columns.cacheHits, value: ({ rates }) => rates?.cache_hit_rate ?? null, isLargestFirst: true, isNumber: true },
		{ id: 'backend', title: columns.backend, value: ({ model }) => model.resolved_backend, shown: 'chosen' },
		{ id: 'configured', title: columns.configured, value: ({ model }) => configuredOf(model), shown: 'chosen' },
		{
			id: 'loaded',
			title: columns.loaded,
			value: ({ model }) => (model.loaded_at === null || model.runtime_state !== 'loaded' ? null : -model.loaded_at),
			isNumber: true,
			shown: 'chosen'
		},
		{ id: 'actions', title: columns.actions, shown: 'always', card: 'action' }
	],
	filters: [
		{
			id: 'state',
			title: columns.state,
			of: ({ model }) => model.runtime_state,
			options: STATES.map((state) => ({ value: state, label: words.states[state] }))
		}
	],
	searched: ({ model }) => [
		model.name,
		model.resolved_backend,
		fileOf(model) ?? '',
		quantizationOf(model) ?? '',
		policyText(model),
		model.last_error ?? ''
	],
	key: ({ model }) => model.name,
	sort: 'name'
};

/** The models of a selection that a load, or an unload, can begin with. */
export function loadable(rows: readonly ModelRow[]): Model[] {
	return rows.map(({ model }) => model).filter((model) => actionsOf(model).includes('load'));
}

export function unloadable(rows: readonly ModelRow[]): Model[] {
	return rows.map(({ model }) => model).filter((model) => actionsOf(model).some((one) => one === 'unload' || one === 'cancel'));
}

/** The text of the slots: those in use, of all. */
export function slotsText(model: Model): string {
	return words.slotsOf(model.inflight_requests, slotsOf(model));
}
