import { expect, test } from 'vitest';
import {
	additionFields,
	factsOfFiles,
	fitInWords,
	isPlanned,
	latestDownload,
	policyFields,
	repositoryOf,
	searchOf,
	withPlan,
	type AdditionPlan,
	type Fit,
	type HubChoice
} from '../src/lib/services/additions';
import { bytesInWords } from '../src/lib/services/format';
import { bodyOf } from '../src/lib/services/load_form';
import { waitsForLoad, type Model } from '../src/lib/services/models';
import type { Operation } from '../src/lib/services/operations';

const FIT: Fit = { verdict: 'fits', need_mib: 5_000, free_mib: 20_480, total_mib: 24_576, evicts: [], reason: '' };

function plan(changes: Partial<AdditionPlan> = {}): AdditionPlan {
	return {
		model: 'm',
		source: `hf://owner/name@${'c'.repeat(40)}/m-Q4_K_M.gguf`,
		files: [{ name: 'm-Q4_K_M.gguf', bytes: 5 }],
		download_bytes: 5,
		configuration: { backend: 'llama_server', context: 8192, on_demand: 'load' },
		defaults: [
			{ field: 'quantization', value: 'Q4_K_M', reason: 'the first that fits' },
			{ field: 'context', value: 8192, reason: 'the memory has room for it' },
			{ field: 'on_demand', value: 'load', reason: 'it was added' }
		],
		fit: FIT,
		...changes
	};
}

test('two letters are searched for, an address and a path are not', () => {
	expect(searchOf(' qwen 8b ')).toBe('qwen 8b');
	expect(searchOf('Qwen/Qwen3-8B-GGUF')).toBe('Qwen/Qwen3-8B-GGUF');
	for (const typed of ['', 'q', '  q ', 'https://hub/x/y', 'hf://x/y', 'x/y:Q4_K_M', '/srv/model', './model', 'q'.repeat(201)]) {
		expect(searchOf(typed)).toBeUndefined();
	}
});

test('a source of a hub names its repository with the revision, a path none', () => {
	expect(repositoryOf('hf://owner/name')).toBe('owner/name');
	expect(repositoryOf(plan().source)).toBe(`owner/name@${'c'.repeat(40)}`);
	expect(repositoryOf('/srv/models/name')).toBeUndefined();
	expect(repositoryOf('folder/name')).toBeUndefined();
});

test('the fields are the defaults with their reasons, then when the model is loaded', () => {
	const fields = additionFields(withPlan(undefined, plan()));
	expect(fields.map(({ name, control, about }) => [name, control, about?.split(':')[0]])).toEqual([
		['context', 'integer', 'the memory has room for it'],
		['on_demand', 'text', 'it was added'],
		['idle_unload_s', 'float', 'unloaded after this time without a request'],
		['pin', 'boolean', 'true']
	]);
	expect(factsOfFiles(withPlan(undefined, plan())).map(({ field }) => field)).toEqual(['quantization']);
});

test('a field that was set stays in the form with what was chosen for it', () => {
	const first = withPlan(undefined, plan());
	const configuration = { ...plan().configuration, context: 4096, pin: true };
	const second = withPlan(first, plan({ configuration, defaults: plan().defaults.slice(2) }));
	const fields = additionFields(second);
	expect(fields.map(({ name, configured }) => [name, configured])).toEqual([
		['context', 8192],
		['on_demand', 'load'],
		['idle_unload_s', null],
		['pin', false]
	]);
});

test('true, false and null are values of the configuration', () => {
	const fields = policyFields({});
	const { body, problems } = bodyOf(fields, {
		pin: { is: 'value', text: 'true' },
		idle_unload_s: { is: 'null' },
		on_demand: { is: 'value', text: 'reject' }
	});
	expect(body).toEqual({ pin: true, idle_unload_s: null, on_demand: 'reject' });
	expect(problems).toEqual({});
	expect(bodyOf(fields, { pin: { is: 'value', text: 'false' } }).body).toEqual({ pin: false });
	expect(fields.find(({ name }) => name === 'pin')?.choices).toEqual(['true', 'false']);
});

test('a choice is that of the plan if the plan has its files', () => {
	const choice = (...names: string[]): HubChoice => ({
		label: '',
		source: '',
		files: names.map((name) => ({ name, bytes: 1 })),
		bytes: 1,
		fit: FIT
	});
	expect(isPlanned(choice('m-Q4_K_M.gguf'), plan())).toBe(true);
	expect(isPlanned(choice('m-Q8_0.gguf'), plan())).toBe(false);
	expect(isPlanned(choice('m-Q4_K_M.gguf', 'mmproj.gguf'), plan())).toBe(false);
	expect(isPlanned(choice(), plan())).toBe(false);
});

test('a fit is said with the numbers that are known', () => {
	expect(fitInWords(FIT)).toBe('needs 4.9 GiB; 20.0 GiB of 24.0 GiB are free');
	expect(fitInWords({ ...FIT, verdict: 'fits_with_eviction', free_mib: 100, evicts: ['a', 'b'] })).toBe(
		'needs 4.9 GiB; 100 MiB of 24.0 GiB are free; unloads a, b'
	);
	expect(fitInWords({ ...FIT, verdict: 'unknown', need_mib: null, free_mib: null })).toBe('');
});

test('a size below a MiB is not zero', () => {
	expect([0, 1, 5_000, 1_048_576].map(bytesInWords)).toEqual(['0 KiB', '1 KiB', '5 KiB', '1 MiB']);
});

test('the latest download of a model counts, and no other operation', () => {
	const one = (id: string, kind: string, model: string, created_at: number) =>
		({ id, kind, model, created_at }) as unknown as Operation;
	const first = one('a', 'download', 'm', 1);
	const known = { b: one('b', 'download', 'm', 2), c: one('c', 'download', 'other', 3), d: one('d', 'load', 'm', 4) };
	expect(latestDownload({}, first).id).toBe('a');
	expect(latestDownload(known, first).id).toBe('b');
});

test('requests wait for a load while the model is unloaded or loading', () => {
	const row = (runtime_state: string, queue_depth: number) => ({ runtime_state, queue_depth }) as unknown as Model;
	expect(waitsForLoad(row('unloaded', 1))).toBe(true);
	expect(waitsForLoad(row('loading', 2))).toBe(true);
	expect(waitsForLoad(row('unloaded', 0))).toBe(false);
	expect(waitsForLoad(row('loaded', 3))).toBe(false);
});
