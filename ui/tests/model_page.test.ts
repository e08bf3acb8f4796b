import { describe, expect, it } from 'vitest';
import type { Model } from '../src/lib/services/feed_events';
import { definitionRows, matching, withLines, type LogLine } from '../src/lib/services/model_page';

function line(id: string, text = id): LogLine {
	return { id, at: 0, replica: 'm#1.0', worker: 'w1', operation_id: null, text, omitted_bytes: 0 };
}

function lines(...ids: string[]): LogLine[] {
	return ids.map((id) => line(id));
}

function model(fields: Partial<Model>): Model {
	const row = { runtime_state: 'loaded', replicas: 1, load_override: {}, definition: { replicas: 1, n_ctx: 4096, path: 'a' } };
	return { ...row, ...fields } as unknown as Model;
}

function changed(row: Model): Record<string, string | undefined> {
	return Object.fromEntries(definitionRows(row).map(({ name, inForce }) => [name, inForce]));
}

describe('a log', () => {
	it('keeps the latest lines', () => {
		expect(withLines(lines('1', '2'), lines('3', '4'), 3).map(({ id }) => id)).toEqual(['2', '3', '4']);
	});

	it('has a line once that two readings have brought', () => {
		expect(withLines(lines('1', '2'), lines('2', '3'), 9).map(({ id }) => id)).toEqual(['1', '2', '3']);
		expect(withLines(lines('1', '2'), lines('1', '2'), 9)).toHaveLength(2);
	});

	it('is the same list when no new line has come', () => {
		const before = lines('1', '2');
		expect(withLines(before, [], 9)).toBe(before);
		expect(withLines(before, lines('2'), 9)).toBe(before);
	});

	it('is searched in small and large letters, and for what has a meaning elsewhere', () => {
		const all = [line('1', 'An Error'), line('2', 'a.*b'), line('3', 'axxb')];
		expect(matching(all, ' error ').map(({ id }) => id)).toEqual(['1']);
		expect(matching(all, '.*').map(({ id }) => id)).toEqual(['2']);
		expect(matching(all, ' ')).toEqual(all);
	});
});

describe('a definition', () => {
	it('has no difference without an override', () => {
		expect(changed(model({}))).toEqual({ replicas: undefined, n_ctx: undefined, path: undefined });
	});

	it('shows what is in force instead, null included', () => {
		const row = model({ replicas: 2, load_override: { n_ctx: null, path: 'a', other: [1] } });
		expect(changed(row)).toEqual({ replicas: '2', n_ctx: 'null', path: undefined, other: '[1]' });
	});

	it('ignores the replicas of a model that is not loaded', () => {
		expect(changed(model({ runtime_state: 'failed', replicas: 2 })).replicas).toBeUndefined();
	});
});
