import { expect, test } from 'vitest';
import { policyText, whyFixed } from '../src/lib/services/load_policy';
import { MODEL_TABLE, type ModelRow } from '../src/lib/services/model_table';
import type { Model } from '../src/lib/services/models';
import { rowsOf, viewOf } from '../src/lib/services/table';
import { text } from '../src/lib/text';

const words = text.models.policy;

function model(fields: Record<string, unknown>): Model {
	return { definition: {}, load_override: {}, resolved_backend: 'stub', last_error: null, ...fields } as unknown as Model;
}

test.each([
	[{ pin: false, on_demand: 'reject', idle_unload_s: null }, 'by hand'],
	[{}, 'by hand'],
	[{ pin: true, on_demand: 'reject', idle_unload_s: null }, 'pinned'],
	[{ pin: false, on_demand: 'load', idle_unload_s: 600 }, 'on demand, idle 10 min'],
	[{ pin: true, on_demand: 'load', idle_unload_s: 90 }, 'pinned, on demand, idle 1 min 30 s']
])('the policy of %j is %s', (definition, expected) => {
	expect(policyText(model({ definition }))).toBe(expected);
});

test.each([
	[{ registered: false, dynamic: false, runtime_state: 'unloaded' }, words.configured],
	[{ registered: false, dynamic: true, runtime_state: 'loaded' }, words.dynamic],
	[{ registered: true, dynamic: true, runtime_state: 'loading' }, words.inUse],
	[{ registered: true, dynamic: true, runtime_state: 'unloading' }, words.inUse],
	[{ registered: true, dynamic: true, runtime_state: 'failed' }, undefined],
	[{ registered: true, dynamic: true, runtime_state: 'unloaded' }, undefined]
])('the policy of a model with %j cannot be changed because: %s', (fields, expected) => {
	expect(whyFixed(model(fields))).toBe(expected);
});

test('models are ordered and found by their policy', () => {
	const definitions = { hand: {}, idle: { idle_unload_s: 60 }, demand: { on_demand: 'load' }, pinned: { pin: true } };
	const rows = Object.entries(definitions).map(([name, definition]) => ({
		model: model({ name, definition }),
		rates: undefined,
		placed: []
	})) satisfies ModelRow[];
	const names = (address: string) => rowsOf(rows, viewOf(address, MODEL_TABLE), MODEL_TABLE).map((row) => row.model.name);
	expect(names('?sort=policy')).toEqual(['pinned', 'demand', 'idle', 'hand']);
	expect(names('?q=by+hand')).toEqual(['hand']);
});
