import { expect, test } from 'vitest';
import {
	age,
	cacheUseOf,
	dotText,
	dotsOf,
	fileName,
	loadable,
	milliseconds,
	missingReplicas,
	placedReplicas,
	quantizationOf,
	unloadable,
	type ModelRow
} from '../src/lib/services/model_table';
import type { Model } from '../src/lib/services/models';
import type { Worker } from '../src/lib/services/workers';

function model(fields: Partial<Model>): Model {
	return { definition: {}, load_override: {}, ...fields } as unknown as Model;
}

function quantization(path: string, more: Record<string, unknown> = {}): string | null {
	return quantizationOf(model({ definition: { model_path: path, ...more } }));
}

test.each([
	['/models/Qwen3-8B-Q4_K_M.gguf', 'Q4_K_M'],
	['/models/google_gemma-4-E2B-it-Q8_0.gguf', 'Q8_0'],
	['/models/gemma-UD-IQ2_XXS-00001-of-00003.gguf', 'UD-IQ2_XXS'],
	['Qwen/Qwen3-8B-GGUF:Q4_K_M', 'Q4_K_M'],
	['/models/llama-bf16.gguf', 'BF16'],
	['org/Qwen3-32B-AWQ', 'AWQ'],
	['org/Qwen3-32B-FP8', 'FP8'],
	['/models/Mistral-4.0bpw', '4.0BPW'],
	['/models/stoker-demo.gguf', null],
	['Qwen/Qwen3-8B', null],
	['', null]
])('the type of the weights of %s is %s', (path, expected) => {
	expect(quantization(path)).toBe(expected);
});

test('a configured method counts more than the name of the file, and that of a load more than both', () => {
	expect(quantization('org/m-AWQ', { vllm_quantization: 'fp8' })).toBe('FP8');
	const loaded = model({ definition: { model_path: 'm', vllm_quantization: 'fp8' }, load_override: { vllm_quantization: null } });
	expect(quantizationOf(loaded)).toBeNull();
});

const WORKERS = [
	{
		name: 'gpu0',
		gpus: [{ index: 0 }, { index: 1 }],
		replicas: [
			{ name: 'a-1', model: 'a', state: 'up', ready: true, stalled: false, kv_cache_use: 0.25 },
			{ name: 'b-1', model: 'b', state: 'starting', ready: false, stalled: false, kv_cache_use: null }
		]
	},
	{
		name: 'cpu0',
		gpus: [],
		replicas: [{ name: 'a-2', model: 'a', state: 'up', ready: true, stalled: true, kv_cache_use: 0.75 }]
	}
] as unknown as Worker[];

test('each replica is placed at its worker and its GPUs', () => {
	const placed = placedReplicas(WORKERS);
	expect(placed.get('a')?.map(dotText)).toEqual(['up on gpu0 (GPU 0, 1)', 'makes no progress on cpu0']);
	const tones = (name: string, fields: Partial<Model>) =>
		dotsOf({ model: model(fields), rates: undefined, placed: placed.get(name) ?? [] }).map(({ tone }) => tone);
	expect(tones('a', { runtime_state: 'loaded', replicas: 4, loaded_replicas: 2 })).toEqual(['good', 'bad', 'missing']);
	expect(tones('b', { runtime_state: 'loading', replicas: 1, loaded_replicas: 0 })).toEqual(['wait']);
});

test('the use of the KV cache is that of the fullest replica', () => {
	const placed = placedReplicas(WORKERS);
	expect(cacheUseOf({ placed: placed.get('a') } as unknown as ModelRow)).toBe(0.75);
	expect(cacheUseOf({ placed: placed.get('b') } as unknown as ModelRow)).toBeNull();
});

test('replicas are missing of a loaded model only', () => {
	expect(missingReplicas(model({ runtime_state: 'loaded', replicas: 3, loaded_replicas: 1 }))).toBe(2);
	expect(missingReplicas(model({ runtime_state: 'unloaded', replicas: 3, loaded_replicas: 0 }))).toBe(0);
});

test('a selection is loaded where nothing runs, and unloaded where something runs', () => {
	const states = ['unloaded', 'failed', 'loading', 'loaded', 'unloading'] as const;
	const rows = states.map((runtime_state) => ({ model: model({ name: runtime_state, runtime_state, operation_id: 'load_1', restart_at: null, replicas: 1, loaded_replicas: 1 }) })) as unknown as ModelRow[];
	expect(loadable(rows).map(({ name }) => name)).toEqual(['unloaded', 'failed']);
	expect(unloadable(rows).map(({ name }) => name)).toEqual(['loading', 'loaded']);
});

test('times and names are short', () => {
	expect([milliseconds(240.4), milliseconds(1_440)]).toEqual(['240 ms', '1.4 s']);
	expect([age(12), age(3_725), age(90_061)]).toEqual(['12 s', '1 h 2 min', '1 d 1 h']);
	expect(fileName('/models/a/b.gguf')).toBe('b.gguf');
});
