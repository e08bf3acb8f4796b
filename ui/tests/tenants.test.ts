import { describe, expect, it } from 'vitest';
import { expiresSoon, keyBody, type Key } from '../src/lib/services/keys';
import { KEY_TABLE } from '../src/lib/services/key_table';
import { rowsOf, viewOf } from '../src/lib/services/table';
import { TENANT_TABLE } from '../src/lib/services/tenant_table';
import {
	budgetsOf,
	changesOf,
	fieldOf,
	formOf,
	isLimited,
	joined,
	nearestLimit,
	toneOf,
	windowUsed,
	type Tenant,
	type TenantUse
} from '../src/lib/services/tenants';

function tenant(name: string, more: Partial<Tenant> = {}): Tenant {
	return {
		name,
		object: 'tenant',
		weight: 1,
		max_priority: 'high',
		rate_limit: null,
		token_limit: null,
		max_running: null,
		max_waiting: null,
		max_streams: null,
		max_readers: null,
		max_bytes: null,
		budget_tokens: null,
		budget_gpu_s: null,
		budget_soft: null,
		receipts: false,
		may_load: false,
		comfyui_workflows: false,
		keep_texts: false,
		keys: 0,
		is_configured: false,
		configured: [],
		ignored: [],
		created_at: null,
		...more
	};
}

function use(name: string, more: Partial<TenantUse> = {}): TenantUse {
	return {
		tenant: name,
		object: 'tenant.limits',
		requests: null,
		tokens: null,
		running: { most: null, used: 0 },
		waiting: { most: 48, used: 0, model: null, all_models: 0 },
		bytes: { most: 100, used: 0 },
		budget: null,
		at_limit: [],
		refusals: [],
		...more
	};
}

const busy = { code: 'queue_full', status: 503 as const, last_5_minutes: 2, last_hour: 5 };
const limited = { code: 'rate_limit_exceeded', status: 429 as const, last_5_minutes: 1, last_hour: 9 };
const rows = joined(
	[tenant('acme', { weight: 3 }), tenant('beta', { keys: 7 }), tenant('gamma')],
	[use('gamma', { refusals: [busy, limited] }), use('acme', { at_limit: ['running'], running: { most: 4, used: 4 } })]
);
const names = (address: string) => rowsOf(rows, viewOf(address, TENANT_TABLE), TENANT_TABLE).map((row) => row.tenant.name);

describe('the list of tenants', () => {
	it('has the use of each tenant, and the sums of its refused requests', () => {
		expect(rows.map((row) => row.use?.tenant)).toEqual(['acme', undefined, 'gamma']);
		expect(rows[2]?.refused).toEqual({ recent: 3, hour: 14 });
		expect(rows[1]?.refused).toEqual({ recent: 0, hour: 0 });
	});

	it('is sorted by each column in both orders, equal ones by name', () => {
		expect(names('')).toEqual(['acme', 'beta', 'gamma']);
		expect(names('?sort=-name')).toEqual(['gamma', 'beta', 'acme']);
		expect(names('?sort=-refused')).toEqual(['gamma', 'acme', 'beta']);
		expect(names('?sort=-running')).toEqual(['acme', 'gamma', 'beta']);
		expect(names('?sort=keys')).toEqual(['acme', 'gamma', 'beta']);
		expect(names('?sort=weight')).toEqual(['beta', 'gamma', 'acme']);
	});

	it('shows those whose names have a text, and those at a limit or refused lately', () => {
		expect(names('?q=+BET+')).toEqual(['beta']);
		expect(names('?limits=reached')).toEqual(['acme', 'gamma']);
		expect(isLimited(joined([tenant('a')], [use('a', { refusals: [{ ...busy, last_5_minutes: 0 }] })])[0] as never)).toBe(false);
	});
});

describe('the use of a limit', () => {
	it('is what is not free, also of a limit that admits a tenth at once', () => {
		expect(windowUsed({ most: 20_000, window_s: 60, at_once: 2_000, remaining: 1_500, reset_s: 1 })).toBe(500);
		expect(windowUsed({ most: 5, window_s: 60, at_once: 5, remaining: 6, reset_s: 0 })).toBe(0);
	});

	it('of a month is a meter for each unit that is bounded', () => {
		const resets_at = Date.UTC(2026, 11, 1) / 1000;
		const budget = { tokens: { most: null, used: 7 }, gpu_s: { most: 60, used: 61.9 }, soft: 0.8, resets_at };
		const meter = { title: 'GPU-seconds of the month', used: 61, total: 60, note: 'anew on 2026-12-01 (UTC); an alert from 80 %' };
		expect(budgetsOf(use('acme', { budget }))).toEqual([meter]);
		const both = { ...budget, tokens: { most: 10, used: 7 }, soft: null };
		expect(budgetsOf(use('acme', { budget: both })).map(({ title, note }) => [title, note])).toEqual([
			['Tokens of the month', 'anew on 2026-12-01 (UTC)'],
			['GPU-seconds of the month', 'anew on 2026-12-01 (UTC)']
		]);
		expect(budgetsOf(use('acme'))).toEqual([]);
	});

	it('is the nearest one if its largest part is used', () => {
		const bytes = { most: 100, used: 30 };
		expect(nearestLimit(use('acme', { bytes }))).toEqual({ limit: 'bytes', used: 30, total: 100 });
		expect(nearestLimit(use('acme', { bytes, running: { most: 4, used: 2 } }))).toEqual({ limit: 'running', used: 2, total: 4 });
		expect(nearestLimit(use('acme', { running: { most: null, used: 9 } }))).toBeUndefined();
	});

	it('has a tone when it is near or reached', () => {
		expect([0, 79, 80, 99, 100, 130].map((used) => toneOf(used, 100))).toEqual(['accent', 'accent', 'wait', 'wait', 'bad', 'bad']);
	});
});

describe('the form of a tenant', () => {
	it('changes only the fields that differ, and an empty text removes one', () => {
		const before = formOf(tenant('acme', { rate_limit: '100/min', max_running: 4 }));
		expect(changesOf(before, before)).toEqual({});
		const after = { ...before, rate_limit: '', max_running: ' 8 ', weight: '2.5', receipts: 'true', max_priority: 'low' };
		expect(changesOf(before, after)).toEqual({
			weight: 2.5,
			max_priority: 'low',
			rate_limit: null,
			max_running: 8,
			receipts: true
		});
	});

	it('sends a text that is no number as it is, for the message of the API', () => {
		const before = formOf(undefined);
		expect(changesOf(before, { ...before, max_waiting: 'many', weight: '1e3', max_bytes: '0' })).toEqual({
			weight: 1000,
			max_waiting: 'many',
			max_bytes: 0
		});
	});

	it('finds the field that an error names', () => {
		expect(fieldOf('models.0', ['label', 'models'])).toBe('models');
		expect(fieldOf('models[0]', ['models'])).toBe('models');
		expect(fieldOf('model', ['models'])).toBeUndefined();
		expect(fieldOf(undefined, ['models'])).toBeUndefined();
	});
});

describe('a new key', () => {
	const form = { tenant: 'acme', scopes: ['inference' as const], models: '', expires: '', label: '' };

	it('is for all models and for ever unless something else is said', () => {
		expect(keyBody(form)).toEqual({ tenant: 'acme', scopes: ['inference'] });
	});

	it('has its models, its end in Unix seconds, and its label', () => {
		const body = keyBody({ ...form, models: ' one, org/two\n', expires: '2030-01-01T00:00', label: ' laptop ' });
		expect(body.models).toEqual(['one', 'org/two']);
		expect(body.label).toBe('laptop');
		expect(body.expires_at).toBe(new Date(2030, 0, 1).getTime() / 1000);
	});

	const keys = [
		{ id: 'key_1', label: 'Laptop', tenant: 'beta', hint: 'aBcD', created_at: 20, last_used_at: null, expires_at: null },
		{ id: 'key_2', label: '', tenant: 'acme', hint: 'zzzz', created_at: 10, last_used_at: 30, expires_at: 1_000_000 },
		{ id: 'key_3', label: 'a', tenant: 'acme', hint: 'yyyy', created_at: null, last_used_at: 20, expires_at: 2_000_000 }
	] as Key[];
	const ids = (search: string, sort: string) =>
		rowsOf(keys, viewOf(`?q=${search}&sort=${sort}`, KEY_TABLE), KEY_TABLE).map((key) => key.id.slice(-1)).join('');

	it('is found by its label, tenant or last characters', () => {
		expect(['lap', 'ACME', 'abcd', ''].map((text) => ids(text, 'tenant'))).toEqual(['1', '23', '1', '231']);
	});

	it('is sorted by each column: one that was never used first, one that never expires last', () => {
		expect((['label', 'tenant', 'created', 'used', 'expires'] as const).map((sort) => ids('', sort))).toEqual([
			'231',
			'231',
			'321',
			'132',
			'231'
		]);
		expect(ids('', '-used')).toBe('231');
	});

	it('ends soon when fewer than 7 days are left', () => {
		const now = new Date((1_000_000 - 6 * 86_400) * 1000);
		expect(keys.map((key) => expiresSoon(key, now))).toEqual([false, true, false]);
		expect(expiresSoon({ ...keys[1], has_expired: true } as Key, new Date(2e9))).toBe(false);
	});
});
