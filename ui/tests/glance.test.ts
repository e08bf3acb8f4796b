import { expect, test } from 'vitest';
import { fullestWorkers, modelsToLoad, mostTokens, nearestLimits } from '../src/lib/services/glance';
import type { Model } from '../src/lib/services/models';
import { withParameter } from '../src/lib/services/table';
import type { TenantRow, TenantUse } from '../src/lib/services/tenants';
import type { UsageReport } from '../src/lib/services/usage';
import { modelsOf, type Worker } from '../src/lib/services/workers';

const used = (tenant: string, input_tokens: number, output_tokens: number) => ({ tenant, input_tokens, output_tokens }) as UsageReport['data'][number];

test('the tenants with the most tokens come first, with their part of all tokens', () => {
	const data = [used('b', 1, 1), used('a', 3, 2), used('b', 2, 1), used('none', 0, 0), used('c', 1, 0)];
	expect(mostTokens({ data }, 2)).toEqual([
		{ tenant: 'a', tokens: 5, share: 5 / 11 },
		{ tenant: 'b', tokens: 5, share: 5 / 11 }
	]);
	expect(mostTokens({ data: [] }, 2)).toEqual([]);
});

const window = (at_once: number, remaining: number) => ({ at_once, most: at_once, remaining, reset_s: 0, window_s: 60 });
const row = (name: string, fields: Partial<TenantUse>) =>
	({
		tenant: { name },
		use: {
			tenant: name,
			requests: null,
			tokens: null,
			running: { used: 0, most: null },
			waiting: { used: 0, most: 10 },
			bytes: { used: 0, most: null },
			...fields
		}
	}) as unknown as TenantRow;

test('a tenant is listed with the limit of which it uses the largest part, and the nearest tenant first', () => {
	const rows = [
		row('idle', {}),
		row('half', { requests: window(10, 5), running: { used: 1, most: 4 } }),
		row('full', { tokens: window(100, 0), requests: window(10, 5) }),
		row('unlimited', { running: { used: 7, most: null } }),
		{ tenant: { name: 'new' }, use: undefined } as unknown as TenantRow
	];
	expect(nearestLimits(rows, 3)).toEqual([
		{ tenant: 'full', limit: 'tokens', used: 100, total: 100 },
		{ tenant: 'half', limit: 'requests', used: 5, total: 10 }
	]);
	expect(nearestLimits(rows, 1)).toHaveLength(1);
});

test('the live workers with the least memory left come first, and those of unknown memory last', () => {
	const worker = (name: string, memory: [number, number] | null, state = 'live') =>
		({ name, state, memory: memory && { free_mib: memory[0], total_mib: memory[1] }, replicas: [{ model: 'b' }, { model: 'a' }, { model: 'b' }] }) as unknown as Worker;
	const workers = [worker('unknown', null), worker('empty', [90, 100]), worker('full', [5, 50]), worker('gone', [0, 50], 'lost')];
	expect(fullestWorkers(workers, 3).map(({ name }) => name)).toEqual(['full', 'empty', 'unknown']);
	expect(modelsOf(worker('any', null))).toEqual(['a', 'b']);
});

test('of the models that are not loaded those of the latest loads come first', () => {
	const model = (name: string, at: number | null, runtime_state = 'unloaded', loaded_at: number | null = null) =>
		({ name, runtime_state, loaded_at, last_load: at === null ? null : { at, override: {}, replicas: null } }) as unknown as Model;
	const byItself = model('by configuration', null, 'unloaded', 3);
	const models = [model('b', null), model('a', null), model('old', 1), byItself, model('loaded', 9, 'loaded'), model('new', 2, 'failed', 1)];
	expect(modelsToLoad(models, 4).map(({ name }) => name)).toEqual(['by configuration', 'new', 'old', 'a']);
	expect(modelsToLoad([model('loaded', 9, 'loaded')], 3)).toEqual([]);
});

test('a parameter of an address is set and taken away, and the others stay', () => {
	expect(withParameter('?tenant=a', 'job', 'resp_1')).toBe('?tenant=a&job=resp_1');
	expect(withParameter('?tenant=a&job=resp_1', 'job', undefined)).toBe('?tenant=a');
	expect(withParameter('?job=resp_1', 'job', undefined)).toBe('');
});
