import { render } from 'svelte/server';
import { expect, test } from 'vitest';
import StructuredAnswer from '../../src/lib/components/chat/format/StructuredAnswer.svelte';
import { isDataAnswer } from '../../src/lib/services/format/answer_kind';
import { misfitsOf } from '../../src/lib/services/format/fit';
import { fieldProblems, fieldsOf, newField, schemaOf } from '../../src/lib/services/format/form_fields';
import { readSource } from '../../src/lib/services/format/json_source';
import { problemsOf } from '../../src/lib/services/format/schema_check';

const PERSON = {
	type: 'object',
	properties: {
		name: { type: 'string', description: 'the whole name' },
		age: { type: 'integer', minimum: 0, maximum: 150 },
		role: { enum: ['cook', 'guest'] },
		tags: { type: 'array', items: { type: 'string', maxLength: 5 }, maxItems: 2 },
		friend: { anyOf: [{ $ref: '#' }, { type: 'null' }] }
	},
	required: ['name', 'role'],
	additionalProperties: false
};

test('a text is read as JSON.parse reads it', () => {
	for (const text of ['{}', '[]', ' {"a": [1, -2.5e3, true, false, null, "x\\n\\u00e9\\"\\\\"]}\n', '"x"', '0', '{"__proto__": 1, "a/b~": {}}', '[[[]]]']) {
		const { value, problem } = readSource(text);
		expect(problem, text).toBeNull();
		expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
	}
});

test('a text that is no JSON says what is wrong, and in which line', () => {
	for (const [text, kind, line, column] of [
		['', 'empty', 1, 1],
		['{\n  "a": 1,\n}', 'unexpected', 3, 1],
		['{\n  a: 1}', 'unexpected', 2, 3],
		['{"a": 1\n', 'end', 2, 1],
		['[1,\n 01]', 'unexpected', 2, 3],
		['{"a": 1,\n "a": 2}', 'duplicate', 2, 2],
		['["x\n"]', 'text', 1, 4],
		['[] []', 'unexpected', 1, 4],
		["{'a': 1}", 'unexpected', 1, 2],
		['[NaN]', 'unexpected', 1, 2],
		['['.repeat(100), 'deep', 1, 62]
	] as const) {
		expect(readSource(text).problem, text).toMatchObject({ kind, line, column });
	}
});

test('what has come of a text is shown', () => {
	for (const [text, value] of [
		['{"a": "hel', { a: 'hel' }],
		['{"a": "x\\', { a: 'x' }],
		['{"a": [1, 2', { a: [1, 2] }],
		['{"a": {"b": true, "c', { a: { b: true } }],
		['{"a": tr', {}],
		['[{"a": 1}, {', [{ a: 1 }, {}]]
	] as const) {
		expect(readSource(text).value, text).toEqual(value);
		expect(readSource(text).problem?.kind, text).toBe(text.endsWith('tr') ? 'unexpected' : 'end');
	}
});

test('a schema names the line of each problem', () => {
	const text = JSON.stringify({ type: 'object', properties: { a: { type: 'text' }, b: { $ref: '#/$defs/none' } }, required: ['c'], additionalProperties: false }, null, 1);
	const { value, lines } = readSource(text);
	const found = problemsOf(value).map(({ kind, path }) => [kind, lines.get(path.map((name) => `/${name}`).join(''))]);
	expect(found).toEqual([
		['unknownType', 5],
		['reference', 8],
		['requiredUnknown', 12]
	]);
});

test('what the platform cannot enforce is found before it is sent', () => {
	const kinds = (schema: unknown): string[] => problemsOf(schema).map(({ kind }) => kind);
	expect(kinds(PERSON)).toEqual([]);
	expect(kinds(true)).toEqual([]);
	expect(kinds(1)).toEqual(['notASchema']);
	expect(kinds({ type: 'string', minLenght: 1 })).toEqual(['unknownKeyword']);
	expect(kinds({ type: 'array', uniqueItems: true })).toEqual(['unknownKeyword']);
	expect(kinds({ enum: [] })).toEqual(['noChoices']);
	expect(kinds({ anyOf: [{ type: 'null' }], minimum: 1 })).toEqual(['combined']);
	expect(kinds({ type: 'string', pattern: 'a+' })).toEqual(['pattern']);
	expect(kinds({ type: 'integer', minimum: 2, maximum: 1 })).toEqual(['bounds']);
	expect(kinds({ type: 'array', maxItems: 5_000 })).toEqual(['notACount']);
	expect(kinds({ type: 'object', properties: [] })).toEqual(['notAnObject']);
	const deep = readSource(`${'{"items":'.repeat(55)}{}${'}'.repeat(55)}`).value;
	expect(kinds(deep)).toEqual(['tooLarge']);
});

test('a value is checked against the schema', () => {
	const kinds = (value: unknown, schema: unknown = PERSON): string[] | undefined => misfitsOf(value, schema)?.map(({ kind, path }) => `${kind} ${path.join('.')}`);
	expect(kinds({ name: 'A', role: 'cook', age: 3, tags: ['x'], friend: { name: 'B', role: 'guest', friend: null } })).toEqual([]);
	expect(kinds({ name: 1, age: 151, tags: ['a', 'b', 'longer'], more: 1 })).toEqual(['missing role', 'type name', 'range age', 'length tags', 'length tags.2', 'unexpected more']);
	expect(kinds({ name: 'A', role: 'boss', friend: { name: 'B' } })).toEqual(['choice role', 'alternatives friend']);
	expect(kinds(1.5, { type: 'integer' })).toEqual(['type ']);
	expect(kinds(['a', 1], { prefixItems: [{ type: 'string' }], items: false })).toEqual(['unexpected 1']);
	expect(kinds({ a: { b: [1] } }, { enum: [{ a: { b: [1] } }] })).toEqual([]);
});

test('a check ends, whatever schema and value are', () => {
	const itself = { anyOf: [{ $ref: '#' }, { $ref: '#' }] };
	expect(misfitsOf(1, itself)).toBeNull();
	expect(misfitsOf(Array.from({ length: 30_000 }, () => 1), { items: {} })).toBeNull();
	expect(misfitsOf('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', { pattern: '^(a+)+$' })).toEqual([]);
});

test('fields become a schema, and the schema the same fields', () => {
	const fields = [
		newField({ name: 'city', description: 'where' }),
		newField({ name: 'size', kind: 'integer', isOptional: true }),
		newField({ name: 'kind', kind: 'choice', choices: 'old\n\n new \nold' }),
		newField({ name: 'stops', kind: 'group', isList: true, fields: [newField({ name: 'open', kind: 'boolean' }), newField({ name: 'km', kind: 'number' })] })
	];
	const schema = schemaOf(fields);
	expect(schema).toMatchObject({ required: ['city', 'kind', 'stops'], additionalProperties: false });
	expect(problemsOf(schema)).toEqual([]);
	expect(schemaOf(fieldsOf(JSON.parse(JSON.stringify(schema))) ?? [])).toEqual(schema);
});

test('a schema with more than a form can show is none', () => {
	const wrong = [PERSON, { type: 'string' }, { type: 'object' }, { type: 'object', properties: { a: { type: 'string', maxLength: 3 } }, additionalProperties: false }];
	for (const schema of wrong) expect(fieldsOf(schema)).toBeNull();
	expect(fieldsOf({ type: 'object', properties: { a: { enum: ['x'] } }, required: [], additionalProperties: false })).toHaveLength(1);
});

test('fields without names, with equal ones and without choices are problems', () => {
	const fields = [newField(), newField({ name: 'a' }), newField({ name: 'a ' }), newField({ name: 'b', kind: 'choice' }), newField({ name: 'c', kind: 'group' })];
	expect([...fieldProblems(fields).values()]).toEqual(['noName', 'sameName', 'noChoices', 'noFields']);
});

test('an answer that is JSON is shown as data, with whether it fits', () => {
	expect(isDataAnswer('{"a"', true, true)).toBe(true);
	expect(isDataAnswer('Sure: {"a": 1}', true, false)).toBe(false);
	expect(isDataAnswer('{"a": 1}', false, false)).toBe(true);
	expect(isDataAnswer('{"a": 1}', false, true)).toBe(false);
	expect(isDataAnswer('[link](x)', false, false)).toBe(false);
	const shown = (text: string, isStreaming = false): string =>
		render(StructuredAnswer, { props: { text, format: { name: 'person', schema: PERSON }, isStreaming } }).body;
	expect(shown('{"name": "A", "role": "cook"}')).toContain('It fits the format person.');
	expect(shown('{"name": "A"}')).toContain('It does not fit the format person:');
	expect(shown('{"name": "A')).toContain('ended before its data was complete');
	expect(shown('{"name": "A', true)).not.toContain('ended before');
	expect(shown('{"name": "<img src=x onerror=alert(1)>\u202e"}')).toMatch(/&lt;img src=x onerror=alert\(1\)>.*U\+202E/s);
});
