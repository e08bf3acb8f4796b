import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { asksFirst, type UnloadPlan } from '../src/lib/services/load_calls';
import {
	bodyOf,
	boundsInWords,
	entriesOf,
	entryOfText,
	fieldOf,
	fieldsOf,
	groupOf,
	inGroups,
	inWords,
	isChosen,
	labelOf,
	nullInWords,
	parsed,
	presetsOf,
	stateInWords,
	typed,
	UNSET,
	type FieldSpec
} from '../src/lib/services/load_form';
import { actionsOf, slotsOf, type Model } from '../src/lib/services/models';

/** The constraints of each backend, word for word as the specification has them. */
const SPECIFICATION = JSON.parse(readFileSync(new URL('../../tests/seeds/runtime_admin_api.json', import.meta.url), 'utf8')) as {
	load_constraints: Record<string, Record<string, Record<string, unknown>>>;
};

function field(constraint: Record<string, unknown>, configured: unknown = null, nullable = false): FieldSpec {
	return fieldOf('field', constraint, nullable, configured, undefined);
}

function model(changes: Record<string, unknown>): Model {
	return {
		runtime_state: 'unloaded',
		load_constraints: {},
		load_recommendations: {},
		load_field_descriptions: {},
		nullable_load_fields: [],
		load_null_meanings: {},
		definition: {},
		replica_max: 1,
		...changes
	} as unknown as Model;
}

const BYTES = { kind: 'integer', minimum: 268_435_456, step: 268_435_456, unit: 'bytes', display_unit: 'mib' };
const BITS = { kind: 'integer_or_null', minimum: 2, maximum: 8, default: null, null_means: 'fp16', allowed_values: [2, 4, 8] };

test.each(Object.entries(SPECIFICATION.load_constraints))('the form of %s has a known control for each constraint', (_, all) => {
	const fields = fieldsOf(model({ load_constraints: all }));
	expect(fields.map(({ name }) => name)).toEqual(Object.keys(all));
	for (const one of fields) {
		const constraint = all[one.name] ?? {};
		expect(one.control).not.toBe('json');
		expect(one.nullable).toBe(String(constraint.kind).endsWith('_or_null'));
		expect([one.minimum, one.maximum, one.step]).toEqual([constraint.minimum, constraint.maximum, constraint.step]);
		expect(one.choices).toEqual((constraint.allowed_values as unknown[] | undefined)?.map(String));
		expect([labelOf(one.name), groupOf(one.name)]).not.toEqual([one.name, 'other']);
	}
});

test('unset, null and a value are three different bodies', () => {
	const fields = fieldsOf(model({ load_constraints: { bits: BITS } }));
	expect(bodyOf(fields, {}).body).toEqual({});
	expect(bodyOf(fields, { bits: { is: 'unset' } }).body).toEqual({});
	expect(bodyOf(fields, { bits: { is: 'null' } }).body).toEqual({ bits: null });
	expect(bodyOf(fields, { bits: { is: 'value', text: '8' } }).body).toEqual({ bits: 8 });
});

test('an override becomes the same body again, with null where it has null', () => {
	const fields = fieldsOf(model({ load_constraints: { bits: BITS, bytes: BYTES, method: { kind: 'string_or_null' } } }));
	const override = { bits: null, bytes: 300_000_001, method: 'mtp', other: 1 };
	const { entries, left } = entriesOf(fields, override);
	expect(left).toEqual(['other']);
	expect(bodyOf(fields, entries)).toEqual({ body: { bits: null, bytes: 300_000_001, method: 'mtp' }, problems: {} });
});

test('bytes are typed and shown as MiB, and sent as bytes', () => {
	const bytes = field(BYTES, 2_147_483_648);
	expect([bytes.unit, inWords(bytes, 2_147_483_648), typed(bytes, 268_435_456)]).toEqual(['MiB', '2048 MiB', '256']);
	expect(parsed(bytes, '512')).toEqual({ value: 536_870_912 });
	expect(parsed(bytes, '0.5')).toEqual({ value: 524_288 });
	expect(parsed(bytes, '0.0000001')).toHaveProperty('problem');
	expect(boundsInWords(bytes)).toBe('at least 256 MiB; in steps of 256 MiB');
});

test.each([
	['integer', '8192', 8192],
	['integer', ' -1 ', -1],
	['integer', '4096.5', undefined],
	['integer', 'many', undefined],
	['integer', '', undefined],
	['integer', '99999999999999999999', undefined],
	['float', '0.25', 0.25],
	['float', 'x', undefined],
	['float', 'Infinity', undefined],
	['enum', 'auto', 'auto'],
	['string_or_null', 'null', 'null'],
	['string_or_null', '   ', undefined],
	['colour_of_the_case', '{"a": [1]}', { a: [1] }],
	['colour_of_the_case', 'red', undefined]
])('a %s that is typed as "%s" is sent as %j', (kind, text, expected) => {
	const result = parsed(field({ kind }), text);
	if (expected === undefined) expect(result).toHaveProperty('problem');
	else expect(result).toEqual({ value: expected });
});

test('a field with a wrong text is not in the body, and has its problem', () => {
	const fields = fieldsOf(model({ load_constraints: { size: { kind: 'integer' }, p: { kind: 'float' } } }));
	const { body, problems } = bodyOf(fields, { size: { is: 'value', text: 'x' }, p: { is: 'value', text: '1' } });
	expect(body).toEqual({ p: 1 });
	expect(Object.keys(problems)).toEqual(['size']);
});

test('an unknown kind becomes JSON, also without a kind', () => {
	expect([field({ kind: 'later' }).control, field({}).control]).toEqual(['json', 'json']);
	expect(typed(field({ kind: 'later' }), { a: 1 })).toBe('{"a":1}');
});

test('null is shown with what it means, which is not the default of a value', () => {
	expect(nullInWords(field(BITS))).toBe('null (fp16)');
	const method = { spec_type: { kind: 'enum', allowed_values: ['draft-mtp'], default: 'draft-mtp' } };
	const row = { load_constraints: method, load_null_meanings: { spec_type: 'no speculative decoding' } };
	expect(fieldsOf(model(row)).map(nullInWords)).toEqual(['null (no speculative decoding)']);
	expect(nullInWords(field({ kind: 'string_or_null', default: 'f16' }))).toBe('null');
});

test('a field says what it is set to, and what is in force without that', () => {
	const bits = field(BITS, 8);
	const unset = 'As configured: 8';
	expect(stateInWords(bits, UNSET, unset)).toBe(unset);
	expect(stateInWords(bits, { is: 'null' }, unset)).toBe('null (fp16). As configured: 8');
	expect(stateInWords(bits, { is: 'value', text: '4' }, unset)).toBe('Changed. As configured: 8');
});

test('a text that is empty sets nothing', () => {
	expect([entryOfText(''), entryOfText('  '), entryOfText('4')]).toEqual([UNSET, UNSET, { is: 'value', text: '4' }]);
});

test('fields stand in groups, each once, and an unknown one is last with its own name', () => {
	const fields = ['stub_pace', 'gguf_n_ctx', 'replicas', 'gguf_flash_attn'].map((name) => fieldOf(name, {}, false, 1, undefined));
	const found = inGroups(fields).map(({ group, fields: some }) => [group, some.map(({ name }) => name)]);
	expect(found).toEqual([
		['memory', ['gguf_n_ctx']],
		['speed', ['gguf_flash_attn']],
		['placement', ['replicas']],
		['other', ['stub_pace']]
	]);
	expect(labelOf('stub_pace')).toBe('stub_pace');
});

test('a field that a load may set to null is nullable, whatever its kind says', () => {
	const constraints = { spec: { kind: 'enum', allowed_values: ['draft-mtp'] }, n: { kind: 'integer' } };
	const fields = fieldsOf(model({ load_constraints: constraints, nullable_load_fields: ['spec'] }));
	expect(fields.map(({ nullable }) => nullable)).toEqual([true, false]);
});

test('a preset of a pair sets both fields, null included', () => {
	const row = model({
		load_constraints: { k: BITS, v: BITS },
		load_recommendations: {
			pairs: {
				kind: 'pair_presets',
				fields: ['k', 'v'],
				recommended_pairs: [
					{ label: 'fp16', k: null, v: null },
					{ label: '8/4', k: 8, v: 4 }
				]
			},
			later: { kind: 'triples' }
		}
	});
	const fields = fieldsOf(row);
	const [group, ...others] = presetsOf(fields, row);
	expect(others).toEqual([]);
	const [nulls, pair] = group?.presets ?? [];
	expect(bodyOf(fields, nulls?.entries ?? {}).body).toEqual({ k: null, v: null });
	expect(bodyOf(fields, pair?.entries ?? {}).body).toEqual({ k: 8, v: 4 });
	if (!nulls) throw new Error('there is no preset');
	expect([isChosen(nulls, nulls.entries), isChosen(nulls, {}), isChosen(nulls, pair?.entries ?? {})]).toEqual([true, false, false]);
});

test.each([
	['unloaded', {}, ['load']],
	['failed', { restart_at: null }, ['repair', 'load', 'dismiss']],
	['failed', { restart_at: 5 }, ['repair', 'load', 'unload']],
	['loading', { operation_id: 'load_1' }, ['cancel']],
	['loaded', { loaded_replicas: 2, replicas: 2 }, ['unload']],
	['loaded', { loaded_replicas: 1, replicas: 2 }, ['repair', 'unload']],
	['unloading', {}, []]
])('a model that is %s with %j has the actions %j', (runtime_state, changes, actions) => {
	expect(actionsOf(model({ runtime_state, ...changes }))).toEqual(actions);
});

test('the slots are those of the replicas that are up', () => {
	expect(slotsOf(model({ loaded_replicas: 2, effective_target_inflight: 4 }))).toBe(8);
});

test.each([
	[0, 0, null, false],
	[0, 0, 29, false],
	[0, 0, 30, true],
	[1, 0, null, true],
	[0, 1, 0, true]
])('an unload with %d running and %d waiting requests and a load of %j s asks first: %j', (running, waiting, reload, asks) => {
	expect(asksFirst({ runningRequests: running, waitingRequests: waiting, reload } as UnloadPlan)).toBe(asks);
});
