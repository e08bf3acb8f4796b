/** Simple JSON Schemas as fields of a form, and the fields as a schema. */

import { jsonText } from '../json_tree';
import { isRecord } from './schema_check';

export const KINDS = ['text', 'number', 'integer', 'boolean', 'choice', 'group'] as const;
export type FieldKind = (typeof KINDS)[number];

export interface FormField {
	/** For the page: it stays while the field is changed. */
	id: number;
	name: string;
	kind: FieldKind;
	/** Whether there may be several: a list of the kind. */
	isList: boolean;
	isOptional: boolean;
	description: string;
	/** Of a choice: one in each line. */
	choices: string;
	/** Of a group. */
	fields: FormField[];
}

export type FieldProblem = 'noName' | 'sameName' | 'noChoices' | 'noFields';

/** Groups inside groups are a form only so deep. */
export const DEEPEST = 3;
const MOST = 100;
const TYPES: Record<Exclude<FieldKind, 'choice' | 'group'>, string> = { text: 'string', number: 'number', integer: 'integer', boolean: 'boolean' };

let nextId = 0;

export function newField(changes: Partial<FormField> = {}): FormField {
	nextId += 1;
	return { name: '', kind: 'text', isList: false, isOptional: false, description: '', choices: '', fields: [], ...changes, id: nextId };
}

export function choicesOf(field: FormField): string[] {
	return [...new Set(field.choices.split('\n').map((choice) => choice.trim()).filter(Boolean))];
}

/** The first problem of each field, by its id; of all groups. */
export function fieldProblems(fields: readonly FormField[]): Map<number, FieldProblem> {
	const problems = new Map<number, FieldProblem>();
	const names = new Set<string>();
	for (const field of fields) {
		const name = field.name.trim();
		if (!name) problems.set(field.id, 'noName');
		else if (names.has(name)) problems.set(field.id, 'sameName');
		else if (field.kind === 'choice' && choicesOf(field).length === 0) problems.set(field.id, 'noChoices');
		else if (field.kind === 'group' && field.fields.length === 0) problems.set(field.id, 'noFields');
		names.add(name);
		if (field.kind === 'group') for (const [id, problem] of fieldProblems(field.fields)) problems.set(id, problem);
	}
	return problems;
}

/** The schema of an object with these fields. */
export function schemaOf(fields: readonly FormField[]): Record<string, unknown> {
	const named = fields.map((field) => [field.name.trim(), field] as const);
	return {
		type: 'object',
		properties: Object.fromEntries(named.map(([name, field]) => [name, partOf(field)])),
		required: named.filter(([, field]) => !field.isOptional).map(([name]) => name),
		additionalProperties: false
	};
}

function partOf(field: FormField): Record<string, unknown> {
	const { kind } = field;
	const one: Record<string, unknown> =
		kind === 'group' ? schemaOf(field.fields) : kind === 'choice' ? { type: 'string', enum: choicesOf(field) } : { type: TYPES[kind] };
	const part: Record<string, unknown> = field.isList ? { type: 'array', items: one } : one;
	const description = field.description.trim();
	return description ? { ...part, description } : part;
}

/** The fields of a schema; null if a form does not show all of it. */
export function fieldsOf(schema: unknown): FormField[] | null {
	const fields = read(schema, 1);
	return fields && written(schemaOf(fields)) === written(schema) ? fields : null;
}

function read(schema: unknown, depth: number): FormField[] | null {
	if (!isRecord(schema) || !isRecord(schema.properties) || depth > DEEPEST) return null;
	const entries = Object.entries(schema.properties);
	if (entries.length > MOST) return null;
	const required = Array.isArray(schema.required) ? schema.required : [];
	const fields: FormField[] = [];
	for (const [name, given] of entries) {
		if (!isRecord(given)) return null;
		const isList = given.type === 'array';
		const part = isList ? given.items : given;
		if (!isRecord(part)) return null;
		const common = { name, isList, isOptional: !required.includes(name), description: typeof given.description === 'string' ? given.description : '' };
		if (part.type === 'object') {
			const inner = read(part, depth + 1);
			if (!inner) return null;
			fields.push(newField({ ...common, kind: 'group', fields: inner }));
		} else if (Array.isArray(part.enum)) {
			fields.push(newField({ ...common, kind: 'choice', choices: part.enum.join('\n') }));
		} else {
			const kind = KINDS.find((one) => one !== 'choice' && one !== 'group' && TYPES[one] === part.type);
			if (!kind) return null;
			fields.push(newField({ ...common, kind }));
		}
	}
	return fields;
}

/** A schema as a text that does not depend on the order of names, nor on the type beside choices. */
function written(value: unknown): string {
	const sorted = (part: unknown): unknown => {
		if (Array.isArray(part)) return part.map(sorted);
		if (!isRecord(part)) return part;
		const names = Object.keys(part).filter((name) => !(name === 'type' && Array.isArray(part.enum)) && !(name === 'required' && Array.isArray(part[name]) && part[name].length === 0));
		const entries = names.sort().map((name) => [name, name === 'required' && Array.isArray(part[name]) ? [...part[name]].sort() : sorted(part[name])]);
		return Object.fromEntries(entries) as unknown;
	};
	return jsonText(sorted(value));
}
