import { expect, test } from 'vitest';
import type { ChatSettings, Preset } from '../../src/lib/chat_types';
import { isPresetLink, MAX_FRAGMENT, presetLink, presetText, readPresetLink } from '../../src/lib/services/chat/preset_link';
import { isUsed, NO_SETTINGS, PresetProblem, presetFrom, presetOf, presetsFor, settingsFrom, withPreset } from '../../src/lib/services/chat/presets';

const SETTINGS: ChatSettings = {
	model: 'org/model',
	secondModel: 'other',
	instructions: 'Answer "briefly" — 日本語 #1 & more?\n',
	parameters: { temperature: 0.2, stop: ['\n\n'] },
	reasoning: 'low',
	tools: ['search'],
	format: { name: 'answer', schema: { type: 'object', properties: { n: { type: 'integer' } } } }
};
const PRESET = presetOf('Brief', 'org/model', SETTINGS);
const PAGE = 'https://host/prefix/ui/?c=1#old';

function problemOf(read: () => unknown): string {
	try {
		read();
	} catch (error) {
		if (error instanceof PresetProblem) return error.path;
		throw error;
	}
	return 'none';
}

function linked(value: unknown): string {
	return `#preset=${encodeURIComponent(JSON.stringify(value))}`;
}

test('a preset comes back from its link as it was', () => {
	const link = presetLink(PAGE, PRESET);
	expect(link).toMatch(/^https:\/\/host\/prefix\/ui\/#preset=%7B/);
	expect(readPresetLink(new URL(link ?? '').hash)).toEqual(PRESET);
	expect(readPresetLink(linked(JSON.parse(presetText(presetOf('Empty', null, NO_SETTINGS)))))).toEqual(
		presetOf('Empty', null, NO_SETTINGS)
	);
});

test('a preset without effect has a short link', () => {
	expect(presetText(presetOf('A', null, NO_SETTINGS))).toBe('{"version":1,"name":"A","settings":{}}');
});

test('a preset that is too long for a link has none', () => {
	const instructions = '日'.repeat(10_000); // nine characters each, when encoded
	expect(presetLink(PAGE, presetOf('Long', null, { ...NO_SETTINGS, instructions }))).toBeNull();
});

test('only a fragment of a preset is read as one', () => {
	expect(isPresetLink('#preset=')).toBe(true);
	for (const fragment of ['', '#', '#other', '?preset=', 'preset=']) expect(isPresetLink(fragment)).toBe(false);
	for (const fragment of ['#preset=', '#preset=%', '#preset=null', '#preset=[]', '#preset=1', '#preset=%7B%7D', '#other'])
		expect(problemOf(() => readPresetLink(fragment))).toBe('');
	const long = linked({ version: 1, name: 'x', settings: { instructions: 'x'.repeat(MAX_FRAGMENT) } });
	expect(problemOf(() => readPresetLink(long))).toBe('');
	expect(problemOf(() => readPresetLink(linked({ version: 2, name: 'x' })))).toBe('version');
});

test.each([
	[{}, 'name'],
	[{ name: ' ' }, 'name'],
	[{ name: 'x'.repeat(101) }, 'name'],
	[{ name: 1 }, 'name'],
	[{ name: 'x', id: 'y' }, 'id'],
	[JSON.parse('{"name": "x", "__proto__": {"a": 1}}'), '__proto__'],
	[{ name: 'x', model: '' }, 'model'],
	[{ name: 'x', model: 'm'.repeat(257) }, 'model'],
	[{ name: 'x', settings: [] }, 'settings'],
	[{ name: 'x', settings: { instructions: 'x'.repeat(32_001) } }, 'settings.instructions'],
	[{ name: 'x', settings: { instructions: ['x'] } }, 'settings.instructions'],
	[{ name: 'x', settings: { parameters: { temperature: 9 } } }, 'settings.parameters.temperature'],
	[{ name: 'x', settings: { parameters: { model: 'y' } } }, 'settings.parameters.model'],
	[{ name: 'x', settings: { parameters: JSON.parse('{"__proto__": {}}') } }, 'settings.parameters.__proto__'],
	[{ name: 'x', settings: { parameters: [] } }, 'settings.parameters'],
	[{ name: 'x', settings: { reasoning: 'much' } }, 'settings.reasoning'],
	[{ name: 'x', settings: { tools: 'all' } }, 'settings.tools'],
	[{ name: 'x', settings: { tools: ['a', 5] } }, 'settings.tools[1]'],
	[{ name: 'x', settings: { tools: Array(129).fill('a') } }, 'settings.tools'],
	[{ name: 'x', settings: { format: { name: 'a b', schema: {} } } }, 'settings.format.name'],
	[{ name: 'x', settings: { format: { name: 'a', schema: [] } } }, 'settings.format.schema'],
	[{ name: 'x', settings: { format: { name: 'a', schema: { a: 'x'.repeat(17_000) } } } }, 'settings.format.schema'],
	[{ name: 'x', settings: { key: 'secret' } }, 'settings.key']
])('a preset from outside is refused by its wrong field: %#', (given, path) => {
	expect(problemOf(() => presetFrom(given))).toBe(path);
});

test('a schema that is nested too deep is refused', () => {
	const deep = (levels: number): unknown => (levels === 0 ? {} : { a: deep(levels - 1) });
	expect(problemOf(() => settingsFrom({ format: { name: 'a', schema: deep(15) } }))).toBe('none');
	expect(problemOf(() => settingsFrom({ format: { name: 'a', schema: deep(5_000) } }))).toBe('format.schema');
});

test('a used preset keeps the models of the conversation that it does not name', () => {
	const used = withPreset({ ...NO_SETTINGS, model: 'mine', secondModel: 'beside' }, presetOf('A', null, SETTINGS));
	expect(used).toEqual({ ...SETTINGS, model: 'mine', secondModel: 'beside' });
	expect(withPreset(NO_SETTINGS, PRESET)).toEqual({ ...SETTINGS, secondModel: null });
	expect(used.tools).not.toBe(SETTINGS.tools);
});

test('a preset is in use until a setting changes', () => {
	const used = withPreset({ ...NO_SETTINGS, secondModel: 'beside' }, PRESET);
	expect(isUsed(used, PRESET)).toBe(true);
	expect(isUsed({ ...used, parameters: { stop: ['\n\n'], temperature: 0.2 } }, PRESET)).toBe(true);
	expect(isUsed({ ...used, instructions: '' }, PRESET)).toBe(false);
});

test('presets of a model come before those for all', () => {
	const presets = [
		{ id: '1', ...presetOf('Zebra', null, NO_SETTINGS) },
		{ id: '2', ...presetOf('Other', 'b', NO_SETTINGS) },
		{ id: '3', ...presetOf('Mine', 'a', NO_SETTINGS) },
		{ id: '4', ...presetOf('Ant', null, NO_SETTINGS) }
	] satisfies Preset[];
	expect(presetsFor(presets, 'a').map(({ name }) => name)).toEqual(['Mine', 'Ant', 'Zebra']);
	expect(presetsFor(presets, null).map(({ name }) => name)).toEqual(['Ant', 'Zebra']);
});
