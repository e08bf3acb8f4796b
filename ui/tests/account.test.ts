import { describe, expect, it } from 'vitest';
import { keyNameOf, sumsOf, type KeyUsageRow } from '../src/lib/services/account';
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
	it('is summed up over the days, and two keys with one label stay two', () => {
		expect(sumsOf({ data: DATA }).map(({ model, key, output_tokens, requests }) => [model, key, output_tokens, requests])).toEqual([
			['alpha', 'laptop', 12, 2],
			['alpha', 'laptop', 1, 1],
			['alpha', 'no key of its own', 2, 1],
			['other models', 'other keys', 4, 1]
		]);
		expect(new Set(sumsOf({ data: DATA }).map(({ id }) => id)).size).toBe(4);
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

	it('quotes what a shell would read', () => {
		expect(snippetOf('claude_code', 'https://host', "it's $(model)")).toContain(`'it'\\''s $(model)'`);
	});
});
