/** The parameters of a request that a person may set, and how they differ from a model's defaults. Pure. */

interface Base {
	/** The field of `POST /v1/responses`. */
	name: string;
	/** Its names in `default_generation_settings.params` of `GET /props`, the first that is there counts. */
	reported: readonly string[];
}

export interface NumberParameter extends Base {
	kind: 'number' | 'integer';
	minimum: number;
	maximum: number;
	step: number;
	/** Reported values that mean "none", such as no limit or a random seed. */
	none: readonly number[];
}

/** Several short texts. */
export interface TextsParameter extends Base {
	kind: 'texts';
	maxItems: number;
	maxLength: number;
}

export interface ChoiceParameter extends Base {
	kind: 'choice';
	/** Empty: the model has them (`lora`). */
	values: readonly string[];
	/** What the API does without the field; null: nothing. */
	unset: string | null;
}

export type Parameter = NumberParameter | TextsParameter | ChoiceParameter;
export type ParameterValue = number | string | readonly string[];
export type Parameters = Record<string, ParameterValue>;
/** The value that holds without the field, by its name; null: none, or not known. */
export type Defaults = Readonly<Record<string, ParameterValue | null>>;

const MAX_INT = 2 ** 31 - 1;
const RANDOM_SEEDS = [-1, 2 ** 32 - 1];

function number(name: string, minimum: number, maximum: number, step: number, reported = [name]): NumberParameter {
	return { name, kind: 'number', minimum, maximum, step, reported, none: [] };
}

function integer(
	name: string,
	minimum: number,
	maximum: number,
	reported: readonly string[] = [name],
	none: readonly number[] = []
): NumberParameter {
	return { name, kind: 'integer', minimum, maximum, step: 1, reported, none };
}

function choice(name: string, values: readonly string[], unset: string | null): ChoiceParameter {
	return { name, kind: 'choice', values, unset, reported: [] };
}

/** In the order in which they are shown. Bounds are those of the API (docs/fields.md). */
export const PARAMETERS: readonly Parameter[] = [
	number('temperature', 0, 2, 0.05),
	number('top_p', 0, 1, 0.01),
	integer('top_k', 0, MAX_INT),
	number('min_p', 0, 1, 0.01),
	number('repetition_penalty', 0.01, 100, 0.01, ['repetition_penalty', 'repeat_penalty']),
	number('presence_penalty', -2, 2, 0.1),
	number('frequency_penalty', -2, 2, 0.1),
	integer('max_output_tokens', 1, MAX_INT, ['max_tokens', 'n_predict'], [-1, 0]),
	integer('seed', 0, Number.MAX_SAFE_INTEGER, ['seed'], RANDOM_SEEDS),
	{ name: 'stop', kind: 'texts', maxItems: 64, maxLength: 256, reported: ['stop'] },
	choice('truncation', ['disabled', 'auto'], 'disabled'),
	choice('service_tier', ['flex', 'default', 'priority'], 'default'),
	choice('lora', [], null)
];

const BY_NAME: ReadonlyMap<string, Parameter> = new Map(PARAMETERS.map((one) => [one.name, one]));

export function parameterOf(name: string): Parameter | undefined {
	return BY_NAME.get(name);
}

/** The defaults of a model from what its engine reports; engines report numbers as 32-bit floats. */
export function defaultsOf(reported: Readonly<Record<string, unknown>>): Defaults {
	return Object.fromEntries(PARAMETERS.map((parameter) => [parameter.name, defaultOf(parameter, reported)]));
}

function defaultOf(parameter: Parameter, reported: Readonly<Record<string, unknown>>): ParameterValue | null {
	if (parameter.kind === 'choice') return parameter.unset;
	const found = parameter.reported.map((name) => reported[name]).find((value) => value !== undefined);
	if (parameter.kind === 'texts') return isTexts(found) && found.length > 0 ? found : null;
	if (typeof found !== 'number' || !Number.isFinite(found) || parameter.none.includes(found)) return null;
	return Number(found.toPrecision(6));
}

function isTexts(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Why a value does not fit: its kind, or its bounds. */
export type ParameterProblem = 'unknown' | 'kind' | 'whole' | 'range' | 'length';

/** What is wrong with a value, which may come from anywhere; null if it fits. */
export function problemOfValue(name: string, value: unknown): ParameterProblem | null {
	const parameter = parameterOf(name);
	if (parameter === undefined) return 'unknown';
	if (parameter.kind === 'choice') {
		if (typeof value !== 'string') return 'kind';
		if (parameter.values.length === 0) return value.length > 0 && value.length <= 64 ? null : 'length';
		return parameter.values.includes(value) ? null : 'range';
	}
	if (parameter.kind === 'texts') {
		if (!isTexts(value)) return 'kind';
		const fits = value.length > 0 && value.length <= parameter.maxItems;
		return fits && value.every((text) => text.length > 0 && text.length <= parameter.maxLength) ? null : 'length';
	}
	if (typeof value !== 'number' || !Number.isFinite(value)) return 'kind';
	if (parameter.kind === 'integer' && !Number.isSafeInteger(value)) return 'whole';
	return value >= parameter.minimum && value <= parameter.maximum ? null : 'range';
}

/** The value of what a person has written into a field; null: the field is empty. */
export function valueOf(parameter: Parameter, text: string): { value: ParameterValue | null } | { problem: ParameterProblem } {
	const value = readText(parameter, text);
	if (value === null) return { value };
	const problem = problemOfValue(parameter.name, value);
	return problem === null ? { value } : { problem };
}

function readText(parameter: Parameter, text: string): ParameterValue | null {
	if (parameter.kind === 'texts') {
		const lines = text.split('\n').filter((line) => line !== '');
		return lines.length > 0 ? lines.map(fromVisible) : null;
	}
	if (text.trim() === '') return null;
	// a comma is the decimal sign of many languages; a text that is no number becomes NaN, which fits nothing
	return parameter.kind === 'choice' ? text : Number(text.trim().replace(',', '.'));
}

/** The text of a value in its field. Lines of `stop` are one text each, so that line breaks in them are written `\n`. */
export function textOf(value: ParameterValue | null | undefined): string {
	if (value === null || value === undefined) return '';
	return Array.isArray(value) ? value.map(toVisible).join('\n') : String(value);
}

const ESCAPED: readonly (readonly [string, string])[] = [
	['\\', '\\\\'],
	['\n', '\\n'],
	['\t', '\\t']
];

function toVisible(text: string): string {
	return ESCAPED.reduce((written, [character, name]) => written.replaceAll(character, name), text);
}

function fromVisible(line: string): string {
	return line.replace(/\\([\\nt])/g, (_, name: string) => ({ '\\': '\\', n: '\n', t: '\t' })[name] ?? name);
}

/** The parameters after a change: a value that is the default, or null, is left out. */
export function withParameter(
	parameters: Readonly<Record<string, unknown>>,
	name: string,
	value: ParameterValue | null,
	defaults: Defaults
): Record<string, unknown> {
	const others = Object.fromEntries(Object.entries(parameters).filter(([one]) => one !== name));
	return value === null || isSame(value, defaults[name]) ? others : { ...others, [name]: value };
}

/** The names of parameters whose values differ from the defaults of a model, in the order in which they are shown. */
export function changedNames(parameters: Readonly<Record<string, unknown>>, defaults: Defaults): string[] {
	return PARAMETERS.map(({ name }) => name).filter(
		(name) => parameters[name] !== undefined && !isSame(parameters[name], defaults[name])
	);
}

function isSame(value: unknown, other: unknown): boolean {
	return value === other || (Array.isArray(value) && JSON.stringify(value) === JSON.stringify(other));
}
