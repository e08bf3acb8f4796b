import { number } from '$lib/services/format';
import type { Model } from '$lib/services/models';
import { text as words } from '$lib/text';

/** One field of a load, as the form shows it: made of its constraint, so that a new option needs no change here. */
export interface FieldSpec {
	name: string;
	/** `json`: the constraint's kind is not known here. */
	control: 'integer' | 'float' | 'text' | 'boolean' | 'json';
	/** The constraint's own kind. */
	kind: string;
	nullable: boolean;
	/** What null means, if the platform says it. */
	nullMeans: string | undefined;
	/** The values to choose from; undefined: any value. */
	choices: readonly string[] | undefined;
	examples: readonly string[];
	/** In the unit of the API. */
	minimum: number | undefined;
	maximum: number | undefined;
	step: number | undefined;
	/** Units of the API in one unit that is shown: 1048576 for bytes that are shown as MiB. */
	scale: number;
	/** The unit that is shown. */
	unit: string | undefined;
	default: unknown;
	/** The configured value, which is in force if the load does not name the field. */
	configured: unknown;
	about: string | undefined;
}

/** What a load says of a field. Three different things: nothing, null, or a value (as it was typed). */
export type Entry = { is: 'unset' } | { is: 'null' } | { is: 'value'; text: string };
export type Entries = Readonly<Record<string, Entry>>;

export const UNSET: Entry = { is: 'unset' };
const MIB = 1_048_576;
export const REPLICAS = 'replicas';
export const EVICT = 'evictModel';

/** The fields of a model's load, from the constraints in its row. */
export function fieldsOf(model: Model): FieldSpec[] {
	return Object.entries(model.load_constraints).map(([name, constraint]) =>
		fieldOf(
			name,
			constraint as Record<string, unknown>,
			model.nullable_load_fields.includes(name),
			model.definition[name],
			model.load_field_descriptions[name],
			model.load_null_meanings[name]
		)
	);
}

/** The field of the number of replicas. */
export function replicasField(model: Model): FieldSpec {
	const constraint = { kind: 'integer', minimum: 1, maximum: model.replica_max, step: 1 };
	return fieldOf(REPLICAS, constraint, false, model.definition[REPLICAS], words.load.replicasAbout);
}

export function fieldOf(
	name: string,
	constraint: Readonly<Record<string, unknown>>,
	nullable: boolean,
	configured: unknown,
	about: string | undefined,
	nullMeans?: string
): FieldSpec {
	const kind = typeof constraint.kind === 'string' ? constraint.kind : words.common.unknown;
	const inMib = constraint.unit === 'bytes' && constraint.display_unit === 'mib';
	const plainUnit = typeof constraint.unit === 'string' ? constraint.unit : undefined;
	return {
		name,
		control: CONTROLS[kind] ?? 'json',
		kind,
		nullable: nullable || kind.endsWith('_or_null'),
		nullMeans: typeof constraint.null_means === 'string' ? constraint.null_means : nullMeans,
		choices: choicesOf(kind, constraint.allowed_values),
		examples: Array.isArray(constraint.examples) ? constraint.examples.filter(isValue).map(String) : [],
		minimum: asNumber(constraint.minimum),
		maximum: asNumber(constraint.maximum),
		step: asNumber(constraint.step),
		scale: inMib ? MIB : 1,
		unit: inMib ? 'MiB' : plainUnit,
		default: constraint.default,
		configured,
		about
	};
}

const CONTROLS: Readonly<Record<string, FieldSpec['control']>> = {
	integer: 'integer',
	integer_or_null: 'integer',
	float: 'float',
	enum: 'text',
	string_or_null: 'text',
	boolean: 'boolean'
};

function choicesOf(kind: string, allowed: unknown): string[] | undefined {
	if (Array.isArray(allowed)) return allowed.filter(isValue).map(String);
	return kind === 'boolean' ? ['true', 'false'] : undefined;
}

function isValue(value: unknown): boolean {
	return value !== null && value !== undefined;
}

function asNumber(value: unknown): number | undefined {
	return typeof value === 'number' ? value : undefined;
}

// ---- values and what is typed

/** A value of the API as it is typed into the field's control. */
export function typed(field: FieldSpec, value: unknown): string {
	if (field.control === 'json') return JSON.stringify(value) ?? '';
	return typeof value === 'number' ? String(value / field.scale) : String(value);
}

/** The value that was typed, for the API; or why it is none. */
export function parsed(field: FieldSpec, text: string): { value: unknown } | { problem: string } {
	const given = text.trim();
	if (given === '') return { problem: words.load.problems.empty };
	switch (field.control) {
		case 'integer': {
			const value = Number(given) * field.scale;
			return Number.isSafeInteger(value) ? { value } : { problem: words.load.problems.integer(field.unit) };
		}
		case 'float': {
			const value = Number(given) * field.scale;
			return Number.isFinite(value) ? { value } : { problem: words.load.problems.float };
		}
		case 'boolean':
			return { value: given === 'true' };
		case 'json':
			try {
				return { value: JSON.parse(given) as unknown };
			} catch {
				return { problem: words.load.problems.json };
			}
		default:
			return { value: given };
	}
}

/** A value of the API for people: `8192`, `256 MiB`, `null (fp16)`. */
export function inWords(field: FieldSpec, value: unknown): string {
	if (value === undefined) return words.common.unknown;
	if (value === null) return nullInWords(field);
	const shown = typed(field, value);
	return field.unit ? `${shown} ${field.unit}` : shown;
}

/** `null`, with what it means. */
export function nullInWords(field: FieldSpec): string {
	return field.nullMeans === undefined ? 'null' : `null (${field.nullMeans})`;
}

/** What a field is set to, in words; `unset` are those for a field that the load does not name. */
export function stateInWords(field: FieldSpec, entry: Entry, unset: string): string {
	if (entry.is === 'unset') return unset;
	return words.load.changed(entry.is === 'null' ? nullInWords(field) : words.load.valueIsSet, unset);
}

/** The entry of what was typed: an empty text is no value, and the configured one stays in force. */
export function entryOfText(text: string): Entry {
	return text.trim() === '' ? UNSET : { is: 'value', text };
}

/** The order of the groups of fields. */
export const GROUPS = ['memory', 'speed', 'input', 'placement', 'other'] as const;
export type Group = (typeof GROUPS)[number];

const GROUP_OF: readonly (readonly [RegExp, Group])[] = [
	[/n_ctx|max_model_len|cache_|kv_cache|rq_tokens|_type_[kv]$|memory_mib/, 'memory'],
	[/flash|spec|speculative|threads|beam|compute/, 'speed'],
	[/image|pixels|seconds|characters/, 'input'],
	[/^replicas$/, 'placement']
];

/** The group of a field; those that nothing is known of come last. */
export function groupOf(name: string): Group {
	return GROUP_OF.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';
}

/** The fields by group, in the order of the groups; a group without fields is left out. */
export function inGroups(fields: readonly FieldSpec[]): { group: Group; fields: FieldSpec[] }[] {
	return GROUPS.map((group) => ({ group, fields: fields.filter(({ name }) => groupOf(name) === group) })).filter(
		({ fields: found }) => found.length > 0
	);
}

/** The name of a field in words; its own name if there is none. */
export function labelOf(name: string): string {
	return words.load.fields[name] ?? name;
}

/** The bounds of a field in words; undefined without bounds. */
export function boundsInWords(field: FieldSpec): string | undefined {
	const unit = field.unit ? ` ${field.unit}` : '';
	const shown = (value: number) => number(value / field.scale);
	const parts: string[] = [];
	if (field.choices === undefined) {
		const { minimum, maximum, step } = field;
		if (minimum !== undefined && maximum !== undefined) parts.push(words.load.between(shown(minimum), shown(maximum) + unit));
		else if (minimum !== undefined) parts.push(words.load.atLeast(shown(minimum) + unit));
		else if (maximum !== undefined) parts.push(words.load.atMost(shown(maximum) + unit));
		if (step !== undefined && step !== 1) parts.push(words.load.step(shown(step) + unit));
	}
	if (isValue(field.default) && !field.nullable) parts.push(words.load.default(inWords(field, field.default)));
	if (field.choices === undefined && field.examples.length > 0) parts.push(words.load.examples(field.examples));
	return parts.length > 0 ? parts.join('; ') : undefined;
}

// ---- the body of a load

/** The body of a load, and why it cannot be sent, by field. A field that is unset is not in the body, null is. */
export function bodyOf(
	fields: readonly FieldSpec[],
	entries: Entries
): { body: Record<string, unknown>; problems: Record<string, string> } {
	const body: Record<string, unknown> = {};
	const problems: Record<string, string> = {};
	for (const field of fields) {
		const entry = entries[field.name] ?? UNSET;
		if (entry.is === 'null') body[field.name] = null;
		if (entry.is !== 'value') continue;
		const result = parsed(field, entry.text);
		if ('problem' in result) problems[field.name] = result.problem;
		else body[field.name] = result.value;
	}
	return { body, problems };
}

/** The entries that say what an override says, and the names in it that have no field. */
export function entriesOf(
	fields: readonly FieldSpec[],
	override: Readonly<Record<string, unknown>>
): { entries: Record<string, Entry>; left: string[] } {
	const entries: Record<string, Entry> = {};
	const left: string[] = [];
	for (const [name, value] of Object.entries(override)) {
		const field = fields.find((one) => one.name === name);
		if (field) entries[name] = entryOf(field, value);
		else left.push(name);
	}
	return { entries, left };
}

function entryOf(field: FieldSpec, value: unknown): Entry {
	return value === null ? { is: 'null' } : { is: 'value', text: typed(field, value) };
}

// ---- presets of pairs

export interface Preset {
	label: string;
	entries: Record<string, Entry>;
}
export interface PresetGroup {
	name: string;
	fields: readonly string[];
	presets: Preset[];
	notes: readonly string[];
}

/** The presets that a model's row recommends. A recommendation of another kind than pairs is left out: it is no condition. */
export function presetsOf(fields: readonly FieldSpec[], model: Model): PresetGroup[] {
	return Object.entries(model.load_recommendations)
		.filter(([, group]) => group.kind === 'pair_presets')
		.map(([name, group]) => ({
			name,
			fields: group.fields,
			notes: group.notes ?? [],
			presets: group.recommended_pairs.map((pair) => ({
				label: String(pair.label),
				entries: entriesOf(fields, Object.fromEntries(group.fields.map((field) => [field, pair[field]]))).entries
			}))
		}));
}

/** Whether the entries are those of the preset. */
export function isChosen(preset: Preset, entries: Entries): boolean {
	return Object.entries(preset.entries).every(([name, entry]) => JSON.stringify(entries[name]) === JSON.stringify(entry));
}
