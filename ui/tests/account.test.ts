import { describe, expect, it, vi } from 'vitest';
import { api } from '../src/lib/api/client';
import { keyNameOf, modelNameOf, readKeyUsage, seriesNameOf, sumsOf, type KeyUsageRow } from '../src/lib/services/account';
import { PROGRAMS, snippetOf } from '../src/lib/services/snippets';
import { barsOf } from '../src/lib/services/usage';

const NOTHING = { succeeded: 0, cached_tokens: 0, queue_ms: 0, gpu_ms: 0, audio_seconds: 0, images: 0, pixel_steps: 0 };

function row(day: string, model: string, key: string | null, key_label: string, output_tokens: number): KeyUsageRow {
	return { ...NOTHING, day, model, key, key_label, output_tokens, requests: 1, input_tokens: 10 };
}

const DATA = [
	row('2026-02-27', 'alpha', 'key_a', 'laptop', 5),
	row('2026-02-28', 'alpha', 'key_a', 'laptop', 7),
	row('2026-02-28', 'alpha', 'key_b', 'laptop', 1),
	row('2026-02-28', 'alpha', null, '', 2),
	row('2026-02-28', 'other', 'other', '', 4)
];

describe('the usage of a tenant by model and key', () => {
	it('has a row for each model and key, and two keys with one label stay two', () => {
		const sums = sumsOf({ data: DATA.slice(1) });
		expect(sums.map(({ model, key, output_tokens, requests }) => [model, key, output_tokens, requests])).toEqual([
			['alpha', 'laptop', 7, 1],
			['alpha', 'laptop', 1, 1],
			['alpha', 'no key of its own', 2, 1],
			['other models', 'other keys', 4, 1]
		]);
		expect(new Set(sums.map(({ id }) => id)).size).toBe(4);
	});

	it('is summed up by the API, in the groups that a page shows', async () => {
		const report = { first_day: '2026-02-27', last_day: '2026-02-28', data: [], group_by: ['day', 'model'] };
		const get = vi.spyOn(api, 'GET').mockResolvedValue({ data: report, response: new Response() } as never);
		expect(await readKeyUsage('', 2, new Date('2026-02-28T12:00:00Z'), ['day', 'model'])).toBe(report);
		const query = { from: '2026-02-27', to: '2026-02-28', group_by: 'day,model' };
		expect(get).toHaveBeenCalledWith('/v1/account/usage', { params: { query } });
		get.mockRestore();
	});

	it('names the series of its bars by the group that the report has', () => {
		const amounts = { ...NOTHING, day: '2026-02-28', output_tokens: 4, requests: 1, input_tokens: 10 };
		expect(seriesNameOf({ group_by: ['day', 'model'] })({ ...amounts, model: 'other' })).toBe('other models');
		expect(seriesNameOf({ group_by: ['day', 'key'] })({ ...amounts, key: 'key_a', key_label: 'laptop' })).toBe('laptop');
		expect(modelNameOf({ model: 'other', key: null })).toBe('other');
	});

	it('names a key without a label by its id', () => {
		expect(keyNameOf({ key: 'key_c', key_label: '' })).toBe('key_c');
	});

	it('is bars by key', () => {
		const report = { first_day: '2026-02-27', last_day: '2026-02-28', data: DATA };
		const bars = barsOf(report, 'output_tokens', keyNameOf, 'all others');
		expect(bars.series).toEqual(['laptop', 'other keys', 'no key of its own']);
		expect(bars.days.map(({ total }) => total)).toEqual([5, 14]);
	});
});

describe('a program for a client', () => {
	it('has the address and the model, and reads the key from a variable', () => {
		for (const program of PROGRAMS) {
			const code = snippetOf(program, 'https://host/prefix', 'org/model');
			expect(code).toContain('https://host/prefix');
			expect(code).toContain('STOKER_API_KEY');
			if (program !== 'environment') expect(code).toContain('org/model');
		}
	});

	it('prints the text of an answer that has reasoning before it', () => {
		const code = snippetOf('anthropic', 'https://host', 'model').split('\n').at(-1);
		expect(code).toBe('print("".join(block.text for block in message.content if block.type == "text"))');
	});

	it('quotes what a shell would read', () => {
		expect(snippetOf('claude_code', 'https://host', "it's $(model)")).toContain(`'it'\\''s $(model)'`);
	});
});
