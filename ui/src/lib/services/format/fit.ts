/**
 * Whether a value fits a JSON Schema: the keywords that the platform enforces, but `pattern` and `format`, which would take
 * a schema's own expressions. The platform lets no answer be otherwise; one that was cut off, or edited, may be.
 */

import { isRecord, resolved } from './schema_check';

export type MisfitKind = 'missing' | 'unexpected' | 'type' | 'choice' | 'range' | 'length' | 'alternatives';

export interface Misfit {
	kind: MisfitKind;
	/** The names on the way to the part of the value. */
	path: (string | number)[];
	/** What was expected: types, choices, bounds. */
	expected: string;
}

const MOST_STEPS = 20_000;
const DEEPEST = 40;
const MOST_MISFITS = 10;

/** What does not fit, at most ten; null if the schema or the value is too large to be checked here. */
export function misfitsOf(value: unknown, schema: unknown): Misfit[] | null {
	const check = new Fit(schema);
	try {
		check.part(value, schema, [], 0);
	} catch (error) {
		if (error instanceof TooLarge) return null;
		throw error;
	}
	return check.misfits;
}

class TooLarge extends Error {}

class Fit {
	misfits: Misfit[] = [];
	#steps = 0;

	constructor(private readonly root: unknown) {}

	part(value: unknown, schema: unknown, path: (string | number)[], depth: number): void {
		this.#steps += 1;
		if (this.#steps > MOST_STEPS || depth > DEEPEST) throw new TooLarge();
		if (schema === false) return this.#misfit('unexpected', path, '');
		if (!isRecord(schema)) return;
		if (typeof schema.$ref === 'string') return this.part(value, resolved(this.root, schema.$ref), path, depth + 1);
		if (schema.nullable === true && value === null) return;
		if ('const' in schema && !isEqual(value, schema.const)) return this.#misfit('choice', path, JSON.stringify(schema.const));
		if (Array.isArray(schema.enum) && !schema.enum.some((choice) => isEqual(value, choice)))
			return this.#misfit('choice', path, schema.enum.slice(0, 8).map((choice) => JSON.stringify(choice)).join(', '));
		for (const group of [schema.anyOf, schema.oneOf]) if (Array.isArray(group)) this.#alternatives(value, group, path, depth);
		if (Array.isArray(schema.allOf)) for (const part of schema.allOf) this.part(value, part, path, depth + 1);
		const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
		if (types.length > 0 && !types.some((type) => hasType(value, type))) return this.#misfit('type', path, types.join(', '));
		if (typeof value === 'number') this.#number(value, schema, path);
		else if (typeof value === 'string') this.#length([...value].length, schema.minLength, schema.maxLength, path);
		else if (Array.isArray(value)) this.#array(value, schema, path, depth);
		else if (isRecord(value)) this.#object(value, schema, path, depth);
	}

	#alternatives(value: unknown, alternatives: unknown[], path: (string | number)[], depth: number): void {
		const before = this.misfits;
		for (const alternative of alternatives) {
			this.misfits = [];
			this.part(value, alternative, path, depth + 1);
			const fits = this.misfits.length === 0;
			this.misfits = before;
			if (fits) return;
		}
		this.#misfit('alternatives', path, '');
	}

	#number(value: number, schema: Record<string, unknown>, path: (string | number)[]): void {
		const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
		const bounds: string[] = [];
		if (typeof minimum === 'number' && value < minimum) bounds.push(`≥ ${minimum}`);
		if (typeof maximum === 'number' && value > maximum) bounds.push(`≤ ${maximum}`);
		if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) bounds.push(`> ${exclusiveMinimum}`);
		if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) bounds.push(`< ${exclusiveMaximum}`);
		if (bounds.length > 0) this.#misfit('range', path, bounds.join(', '));
	}

	#length(count: number, least: unknown, most: unknown, path: (string | number)[]): void {
		if (typeof least === 'number' && count < least) this.#misfit('length', path, `≥ ${least}`);
		if (typeof most === 'number' && count > most) this.#misfit('length', path, `≤ ${most}`);
	}

	#array(value: unknown[], schema: Record<string, unknown>, path: (string | number)[], depth: number): void {
		this.#length(value.length, schema.minItems, schema.maxItems, path);
		const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : Array.isArray(schema.items) ? schema.items : [];
		const others = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
		value.forEach((entry, at) => {
			const part = at < fixed.length ? (fixed[at] as unknown) : others;
			if (part !== undefined) this.part(entry, part, [...path, at], depth + 1);
		});
	}

	#object(value: Record<string, unknown>, schema: Record<string, unknown>, path: (string | number)[], depth: number): void {
		const properties = isRecord(schema.properties) ? schema.properties : {};
		for (const name of Array.isArray(schema.required) ? schema.required : []) {
			if (typeof name === 'string' && !Object.hasOwn(value, name)) this.#misfit('missing', [...path, name], '');
		}
		for (const [name, entry] of Object.entries(value)) {
			const part = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
			if (part !== undefined) this.part(entry, part, [...path, name], depth + 1);
		}
	}

	#misfit(kind: MisfitKind, path: (string | number)[], expected: string): void {
		if (this.misfits.length < MOST_MISFITS) this.misfits.push({ kind, path, expected });
	}
}

function hasType(value: unknown, type: unknown): boolean {
	if (type === 'integer') return Number.isInteger(value);
	if (type === 'null') return value === null;
	if (type === 'array') return Array.isArray(value);
	return type === 'object' ? isRecord(value) : typeof value === type;
}

function isEqual(one: unknown, other: unknown): boolean {
	if (Object.is(one, other)) return true;
	if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length && one.every((part, at) => isEqual(part, other[at]));
	if (!isRecord(one) || !isRecord(other)) return false;
	const names = Object.keys(one);
	return names.length === Object.keys(other).length && names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]));
}
