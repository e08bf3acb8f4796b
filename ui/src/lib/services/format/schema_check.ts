/**
 * What the platform would refuse of a JSON Schema for answers, found before the request is sent. The API decides; its rules
 * are those of docs/api.md, "Structured output".
 */

export type SchemaProblemKind =
	| 'notASchema'
	| 'unknownKeyword'
	| 'unknownType'
	| 'combined'
	| 'noChoices'
	| 'notAnObject'
	| 'notAList'
	| 'notACount'
	| 'requiredUnknown'
	| 'reference'
	| 'pattern'
	| 'bounds'
	| 'tooLarge';

export interface SchemaProblem {
	kind: SchemaProblemKind;
	/** The names on the way to the part. */
	path: (string | number)[];
	/** The keyword, the type or the name that is wrong. */
	detail: string;
}

const MOST_PARTS = 2_000;
const DEEPEST = 40;
const MOST_PROBLEMS = 20;

const ALONE = ['$ref', 'anyOf', 'oneOf', 'allOf', 'const', 'enum'];
const COUNTS = ['minItems', 'maxItems', 'minLength', 'maxLength'];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const KNOWN = new Set([
	...['type', ...ALONE, ...COUNTS, ...NUMBERS, 'properties', 'required', 'additionalProperties', 'propertyNames'],
	...['items', 'prefixItems', 'additionalItems', 'format', 'pattern']
]);
const IGNORED = new Set([
	...['title', 'description', 'default', 'examples', 'example', 'deprecated', 'readOnly', 'writeOnly', '$comment', '$schema', '$id'],
	...['discriminator', 'nullable', 'contentEncoding', 'contentMediaType', '$defs', 'definitions']
]);
const TYPES = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']);

export function problemsOf(schema: unknown): SchemaProblem[] {
	const check = new Check(schema);
	check.part(schema, [], 0);
	return check.problems;
}

class Check {
	readonly problems: SchemaProblem[] = [];
	#parts = 0;

	constructor(private readonly root: unknown) {}

	part(schema: unknown, path: (string | number)[], depth: number): void {
		this.#parts += 1;
		if (this.#parts > MOST_PARTS || depth > DEEPEST) return this.#found('tooLarge', path);
		if (schema === true) return;
		if (!isRecord(schema)) return this.#found('notASchema', path);
		const names = Object.keys(schema).filter((name) => !IGNORED.has(name) && !name.startsWith('x-'));
		for (const name of names) {
			if (!KNOWN.has(name) && !(name === 'uniqueItems' && schema[name] === false)) this.#found('unknownKeyword', [...path, name], name);
		}
		this.#type(schema.type, path);
		const alone = ALONE.find((name) => name in schema);
		const beside = alone && names.find((name) => name !== alone && !(name === 'type' && (alone === 'const' || alone === 'enum')));
		if (beside) this.#found('combined', [...path, beside], `${alone}, ${beside}`);
		this.#reference(schema, path);
		this.#values(schema, path);
		this.#inner(schema, path, depth);
	}

	#type(type: unknown, path: (string | number)[]): void {
		for (const one of Array.isArray(type) ? type : type === undefined ? [] : [type]) {
			if (typeof one !== 'string' || !TYPES.has(one)) this.#found('unknownType', [...path, 'type'], String(one));
		}
	}

	#reference({ $ref }: Record<string, unknown>, path: (string | number)[]): void {
		if ($ref === undefined) return;
		if (typeof $ref !== 'string' || resolved(this.root, $ref) === undefined) this.#found('reference', [...path, '$ref'], String($ref));
	}

	#values(schema: Record<string, unknown>, path: (string | number)[]): void {
		if ('enum' in schema && !(Array.isArray(schema.enum) && schema.enum.length > 0)) this.#found('noChoices', [...path, 'enum']);
		for (const name of COUNTS) {
			const count = schema[name];
			if (count !== undefined && !(Number.isInteger(count) && (count as number) >= 0 && (count as number) <= 1_000)) this.#found('notACount', [...path, name], name);
		}
		for (const [least, most] of [['minItems', 'maxItems'], ['minLength', 'maxLength'], ['minimum', 'maximum']] as const) {
			if (typeof schema[least] === 'number' && typeof schema[most] === 'number' && schema[least] > schema[most]) this.#found('bounds', [...path, least], `${least}, ${most}`);
		}
		const { pattern } = schema;
		if (pattern !== undefined && !(typeof pattern === 'string' && /^\^.*\$$/s.test(pattern))) this.#found('pattern', [...path, 'pattern']);
	}

	#inner(schema: Record<string, unknown>, path: (string | number)[], depth: number): void {
		const { properties, required, items, additionalProperties } = schema;
		if (properties !== undefined && !isRecord(properties)) this.#found('notAnObject', [...path, 'properties'], 'properties');
		for (const group of ['properties', '$defs', 'definitions']) {
			const parts = schema[group];
			if (isRecord(parts)) for (const [name, part] of Object.entries(parts)) this.part(part, [...path, group, name], depth + 1);
		}
		for (const group of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
			const parts = schema[group];
			if (parts === undefined) continue;
			if (!Array.isArray(parts) || parts.length === 0) this.#found('notAList', [...path, group], group);
			else parts.forEach((part, at) => this.part(part, [...path, group, at], depth + 1));
		}
		if (items !== undefined && typeof items !== 'boolean') {
			if (Array.isArray(items)) items.forEach((part, at) => this.part(part, [...path, 'items', at], depth + 1));
			else this.part(items, [...path, 'items'], depth + 1);
		}
		if (additionalProperties !== undefined && typeof additionalProperties !== 'boolean')
			this.part(additionalProperties, [...path, 'additionalProperties'], depth + 1);
		if (required === undefined) return;
		if (!Array.isArray(required)) return this.#found('notAList', [...path, 'required'], 'required');
		required.forEach((name, at) => {
			const isKnown = typeof name === 'string' && (additionalProperties !== false || (isRecord(properties) && Object.hasOwn(properties, name)));
			if (!isKnown) this.#found('requiredUnknown', [...path, 'required', at], String(name));
		});
	}

	#found(kind: SchemaProblemKind, path: (string | number)[], detail = ''): void {
		if (this.problems.length < MOST_PROBLEMS) this.problems.push({ kind, path, detail });
	}
}

/** The part of the schema that a reference (`#/$defs/name`) points to; undefined if there is none. */
export function resolved(root: unknown, reference: string): unknown {
	if (reference === '#') return root;
	if (!reference.startsWith('#/')) return undefined;
	let part = root;
	for (const name of reference.slice(2).split('/')) {
		const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
		if (Array.isArray(part)) part = part[Number(key)] as unknown;
		else if (isRecord(part) && Object.hasOwn(part, key)) part = part[key];
		else return undefined;
	}
	return part;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
