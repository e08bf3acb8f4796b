import type { AnswerFormat, ChatSettings, Preset } from '$lib/chat_types';
import { newSettings } from '$lib/services/chat/new_records';
import { problemOfValue } from '$lib/services/chat/parameters';

/** What comes from outside (a link, a file, an older version of the pages) has to fit these bounds. */
export const MAX_NAME = 100;
export const MAX_INSTRUCTIONS = 32_000;
const MAX_MODEL = 256;
const MAX_TOOLS = 128;
const MAX_TOOL_NAME = 128;
const MAX_SCHEMA_CHARACTERS = 16_384;
const MAX_SCHEMA_LEVELS = 16;
const FORMAT_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const EFFORTS: readonly ChatSettings['reasoning'][] = ['default', 'off', 'low', 'medium', 'high'];

export const NO_SETTINGS = newSettings();

/** A preset without its id: what a link, a file and the form have. */
export type PresetContent = Omit<Preset, 'id'>;

/** A preset that cannot be used. `path` is the field that is wrong. */
export class PresetProblem extends Error {
	constructor(readonly path: string) {
		super(path);
	}
}

/** A preset from outside: exactly the known fields, each within its bounds. Raises `PresetProblem`. */
export function presetFrom(given: unknown): PresetContent {
	const fields = objectWith(given, '', ['name', 'model', 'settings']);
	const name = textWithin(fields.name, 'name', MAX_NAME).trim();
	if (name === '') throw new PresetProblem('name');
	const model = nullable(fields.model, (value) => modelName(value, 'model'));
	return { name, model, settings: { ...settingsFrom(fields.settings ?? {}, 'settings'), model } };
}

/** Settings from outside; fields that are missing have no effect. Raises `PresetProblem`. */
export function settingsFrom(given: unknown, path = ''): ChatSettings {
	const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
	const fields = objectWith(given, path, Object.keys(NO_SETTINGS));
	const reasoning = EFFORTS.find((effort) => effort === (fields.reasoning ?? 'default'));
	if (reasoning === undefined) throw new PresetProblem(at('reasoning'));
	return {
		model: nullable(fields.model, (value) => modelName(value, at('model'))),
		secondModel: nullable(fields.secondModel, (value) => modelName(value, at('secondModel'))),
		instructions: textWithin(fields.instructions ?? '', at('instructions'), MAX_INSTRUCTIONS),
		parameters: parametersFrom(fields.parameters ?? {}, at('parameters')),
		reasoning,
		tools: toolsFrom(fields.tools ?? [], at('tools')),
		format: nullable(fields.format, (value) => formatFrom(value, at('format')))
	};
}

function objectWith(given: unknown, path: string, names: readonly string[]): Partial<Record<string, unknown>> {
	if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new PresetProblem(path);
	const unknown = Object.keys(given).find((name) => !names.includes(name));
	if (unknown !== undefined) throw new PresetProblem(path === '' ? unknown : `${path}.${unknown}`);
	return given;
}

function nullable<T>(given: unknown, read: (value: unknown) => T): T | null {
	return given === null || given === undefined ? null : read(given);
}

function textWithin(given: unknown, path: string, most: number): string {
	if (typeof given !== 'string' || given.length > most) throw new PresetProblem(path);
	return given;
}

function modelName(given: unknown, path: string): string {
	const name = textWithin(given, path, MAX_MODEL);
	if (name === '') throw new PresetProblem(path);
	return name;
}

function parametersFrom(given: unknown, path: string): Record<string, unknown> {
	if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new PresetProblem(path);
	for (const [name, value] of Object.entries(given))
		if (problemOfValue(name, value) !== null) throw new PresetProblem(`${path}.${name}`);
	return { ...given };
}

function toolsFrom(given: unknown, path: string): string[] {
	if (!Array.isArray(given) || given.length > MAX_TOOLS) throw new PresetProblem(path);
	const names = given.map((name, place) => textWithin(name, `${path}[${place}]`, MAX_TOOL_NAME));
	return [...new Set(names)];
}

function formatFrom(given: unknown, path: string): AnswerFormat {
	const { name, schema } = objectWith(given, path, ['name', 'schema']);
	if (typeof name !== 'string' || !FORMAT_NAME.test(name)) throw new PresetProblem(`${path}.name`);
	const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
	if (!isObject || levelsOf(schema) > MAX_SCHEMA_LEVELS || JSON.stringify(schema).length > MAX_SCHEMA_CHARACTERS)
		throw new PresetProblem(`${path}.schema`);
	return { name, schema: schema as Record<string, unknown> };
}

/** How deep a value is nested; it counts no further than one level above the bound. */
function levelsOf(value: unknown, level = 0): number {
	if (typeof value !== 'object' || value === null || level > MAX_SCHEMA_LEVELS) return level;
	return Math.max(level + 1, ...Object.values(value).map((inner) => levelsOf(inner, level + 1)));
}

/** The preset with these settings. A second model, and the consent to a remote one, belong to a conversation alone. */
export function presetOf(name: string, model: string | null, settings: ChatSettings): PresetContent {
	const parameters = Object.fromEntries(Object.entries(settings.parameters).filter(([one]) => one !== 'allow_remote'));
	const kept = copied({ ...settings, model, secondModel: null, parameters });
	return { name: name.trim().slice(0, MAX_NAME), model, settings: kept };
}

/** The settings of a conversation after the use of a preset: it keeps its own models where the preset names none. */
export function withPreset(current: ChatSettings, preset: PresetContent): ChatSettings {
	return {
		...copied(preset.settings),
		model: preset.model ?? current.model,
		secondModel: current.secondModel
	};
}

/** The settings with another model. The consent to another operator's server and an adapter belong to the model before. */
export function withModel(settings: ChatSettings, model: string): ChatSettings {
	if (model === settings.model) return settings;
	return { ...settings, model, parameters: withoutModelsOwn(settings.parameters) };
}

/** The settings with a model beside the first one, or without it. */
export function withSecondModel(settings: ChatSettings, secondModel: string | null): ChatSettings {
	if (secondModel === settings.secondModel) return settings;
	return { ...settings, secondModel, parameters: withoutModelsOwn(settings.parameters) };
}

/** Parameters that mean something for one model alone. */
const MODELS_OWN: readonly string[] = ['allow_remote', 'lora'];

function withoutModelsOwn(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(parameters).filter(([name]) => !MODELS_OWN.includes(name)));
}

/** A copy; what is shown are proxies, which `structuredClone` refuses. */
function copied(settings: ChatSettings): ChatSettings {
	return JSON.parse(JSON.stringify(settings)) as ChatSettings;
}

/** The presets for a model: its own first, then those for all, each by name. */
export function presetsFor(presets: readonly Preset[], model: string | null): Preset[] {
	return presets
		.filter((preset) => preset.model === null || preset.model === model)
		.sort((one, other) => Number(one.model === null) - Number(other.model === null) || one.name.localeCompare(other.name));
}

/** How many settings of a conversation a person has changed, tools and the form of answers not counted: they are shown elsewhere. */
export function changesOf({ instructions, parameters, reasoning }: ChatSettings): number {
	const names = Object.keys(parameters).filter((name) => name !== 'allow_remote');
	return names.length + Number(instructions !== '') + Number(reasoning !== 'default');
}

/** Whether a conversation has exactly the settings of a preset. */
export function isUsed(settings: ChatSettings, preset: PresetContent): boolean {
	return canonical(withPreset(settings, preset)) === canonical(settings);
}

function canonical(settings: ChatSettings): string {
	const sorted = Object.entries(settings.parameters).sort(([one], [other]) => (one < other ? -1 : 1));
	return JSON.stringify([
		settings.model,
		settings.instructions,
		sorted,
		settings.reasoning,
		[...settings.tools].sort(),
		settings.format
	]);
}
