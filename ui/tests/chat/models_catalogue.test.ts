import { expect, test } from 'vitest';
import {
	chatModel,
	listed,
	missingInputs,
	preferredModel,
	readinessOf,
	searchModels,
	supports,
	unsupported,
	type ChatModel,
	type ModelObject
} from '../../src/lib/services/chat/chat_models';

const LISTED = {
	id: 'org/model',
	state: 'loading',
	remote: false,
	created: 0,
	context_length: null,
	lora: ['poems'],
	architecture: { input_modalities: ['text'], output_modalities: ['text'] },
	chat: {
		can_load: true,
		may_load: false,
		loading: { progress: 0.41, eta_s: 12 },
		failure: { code: 'out_of_memory', message: null },
		load_s: 30,
		context_length: 8192,
		size_bytes: 5_000_000_000,
		quantization: 'Q4_K_M',
		input: ['text', 'image'],
		output: 'text',
		media_tasks: [],
		image_sizes: [],
		image_qualities: [],
		voices: [],
		tools: true,
		json_schema: false,
		multi_turn: true,
		counts_tokens: true,
		reasoning: ['default', 'disabled'],
		sampling: ['temperature', 'top_p'],
		tokens_per_second: 42
	}
} as unknown as ModelObject;
const MODEL = chatModel(LISTED);

function model(name: string, fields: Partial<ChatModel> = {}): ChatModel {
	return { ...MODEL, name, state: 'loaded', ...fields };
}

test('a model has the facts of the list', () => {
	expect(MODEL).toMatchObject({ context: 8192, bytes: 5_000_000_000, inputs: ['text', 'image'], tokensPerSecond: 42 });
	expect(MODEL.loading).toEqual({ progress: 0.41, etaSeconds: 12 });
	expect(MODEL.failure).toEqual({ code: 'out_of_memory', message: null });
});

test('a message to a model meets an answer, a load or a refusal', () => {
	expect(readinessOf({ state: 'loaded', canLoad: false })).toBe('ready');
	expect(readinessOf({ state: 'loading', canLoad: false })).toBe('loading');
	for (const state of ['unloaded', 'failed', 'unloading'] as const) {
		expect(readinessOf({ state, canLoad: true })).toBe('loads');
		expect(readinessOf({ state, canLoad: false })).toBe('unavailable');
	}
});

test('models that answer at once are first, and names with numbers are in their order', () => {
	const models = [
		model('z'),
		model('none', { state: 'unloaded', canLoad: false }),
		model('m10'),
		model('m9'),
		model('later', { state: 'unloaded' })
	];
	expect(listed(models).map(({ name }) => name)).toEqual(['m9', 'm10', 'z', 'later', 'none']);
});

test('models are found by words of their names in any order', () => {
	const models = [model('Qwen/Qwen3-8B'), model('org/Mistral-7B')];
	expect(searchModels(models, '8b qwen')).toEqual([models[0]]);
	expect(searchModels(models, ' ')).toEqual(models);
	expect(searchModels(models, 'none')).toEqual([]);
});

test('a new conversation has the model that was used last, unless it cannot answer', () => {
	const models = [model('a'), model('b', { state: 'unloaded' }), model('c', { state: 'failed', canLoad: false })];
	expect(preferredModel(models, 'b')).toBe('b');
	expect(preferredModel(models, 'c')).toBe('a');
	expect(preferredModel(models, null)).toBe('a');
	expect(preferredModel([model('far', { isRemote: true })], 'far')).toBeNull();
	expect(preferredModel([], null)).toBeNull();
});

test('inputs that a model does not take are named', () => {
	expect(missingInputs(MODEL, ['image', 'audio', 'document'])).toEqual(['audio', 'document']);
});

test('parameters that a model does not honour are named', () => {
	expect(unsupported(MODEL, { temperature: 1, top_k: 5, lora: 'poems', max_output_tokens: 5, truncation: 'auto' })).toEqual(['top_k']);
	expect(supports(model('a', { loras: [] }), 'lora')).toBe(false);
	expect(supports(model('a', { countsTokens: false }), 'truncation')).toBe(false);
});
