import { expect, test } from 'vitest';
import { de } from '../../src/lib/chat_text/de';
import { en } from '../../src/lib/chat_text/en';
import type { ChatSettings } from '../../src/lib/chat_types';
import type { ChatModel } from '../../src/lib/services/chat/chat_models';
import { noticesOf, type ModelNotice } from '../../src/lib/services/chat/model_notices';
import { contextInWords, failureInWords, misfitInWords, modelFacts, sizeInWords } from '../../src/lib/services/chat/model_words';
import { NO_SETTINGS } from '../../src/lib/services/chat/presets';

const MODEL: ChatModel = {
	name: 'm',
	state: 'loaded',
	isRemote: false,
	canLoad: true,
	mayLoad: false,
	loading: null,
	failure: null,
	loadSeconds: 30,
	loadedAt: 5,
	context: 8192,
	bytes: 4_700_000_000,
	quantization: 'Q4_K_M',
	inputs: ['text', 'image'],
	task: null,
	imageSizes: [],
	imageQualities: [],
	voices: [],
	takesTools: true,
	followsSchemas: true,
	isMultiTurn: true,
	countsTokens: true,
	reasoning: ['default'],
	sampling: ['temperature'],
	tokensPerSecond: 42.04,
	loras: []
};

function notices(fields: Partial<ChatModel> = {}, settings: Partial<ChatSettings> = {}): ModelNotice[] {
	return noticesOf('m', { ...MODEL, ...fields }, { ...NO_SETTINGS, ...settings }, en.models, 'en');
}

test('a model that answers at once has no notice', () => {
	expect(notices()).toEqual([]);
});

test('a model that the platform does not have is named', () => {
	expect(noticesOf('x', undefined, NO_SETTINGS, en.models, 'en')[0]).toMatchObject({ tone: 'bad' });
});

test('a model that is not loaded tells what a message does, and offers a load where it is allowed', () => {
	expect(notices({ state: 'unloaded' })).toEqual([
		{ tone: 'plain', text: 'm is not loaded. Your message loads it, which takes about 30 s.' }
	]);
	expect(notices({ state: 'unloaded', mayLoad: true, loadSeconds: null })).toEqual([
		{ tone: 'plain', text: 'm is not loaded. Your message loads it.', action: 'load' }
	]);
	expect(notices({ state: 'failed', mayLoad: true })[0]).toMatchObject({ tone: 'wait', action: 'load' });
	for (const state of ['unloaded', 'failed', 'unloading'] as const)
		expect(notices({ state, canLoad: false })[0]?.tone).toBe('bad');
});

test('a failed load says why, in the words of the platform where this session may see them', () => {
	const failure = { code: 'out_of_memory', message: null };
	expect(notices({ state: 'failed', failure })[0]?.text).toBe(
		'The last load of m failed: the memory of its device does not suffice. Your message tries again.'
	);
	expect(notices({ state: 'failed', canLoad: false, failure })[0]?.text).toContain('the memory of its device does not suffice');
	const told = { code: 'load_failed', message: 'm.gguf is no GGUF file.' };
	expect(notices({ state: 'failed', failure: told })[0]?.text).toContain('failed: m.gguf is no GGUF file. Your');
	expect(notices({ state: 'failed', failure: { code: 'a_new_one', message: null } })[0]?.text).toContain('failed: a_new_one.');
	// a load for a message that failed leaves the model unloaded
	expect(notices({ state: 'unloaded', failure })[0]).toMatchObject({ tone: 'wait', text: expect.stringContaining('suffice') as string });
	expect(failureInWords({ ...MODEL, state: 'failed', failure }, de.models)).toBe('der Speicher seines Geräts reicht nicht');
	expect(failureInWords(MODEL, en.models)).toBeNull();
});

test('a load has its progress and the time that is left', () => {
	expect(notices({ state: 'loading', loading: { progress: 0.41, etaSeconds: 12.4 } })).toEqual([
		{ tone: 'plain', text: 'm is loading, about 12 s left.', progress: 0.41 }
	]);
	expect(notices({ state: 'loading' })).toEqual([{ tone: 'plain', text: 'm is loading.' }]);
});

test('a model of another operator needs consent, which the settings keep', () => {
	expect(notices({ isRemote: true })[0]).toMatchObject({ action: 'allow' });
	expect(notices({ isRemote: true }, { parameters: { allow_remote: true } })).toEqual([]);
});

test('what a model does not see of the conversation is counted before a message is sent', () => {
	const picture = { id: 'a', name: 'a.png', kind: 'image' as const, type: 'image/png', bytes: 3, text: '', pages: [] };
	const scan = { ...picture, kind: 'pdf' as const };
	const text = { ...picture, kind: 'text' as const, text: 'x' };
	const blind = { ...MODEL, inputs: ['text'] };
	const [notice] = noticesOf('m', blind, NO_SETTINGS, en.models, 'en', [picture, scan, text]);
	expect(notice).toEqual({
		tone: 'wait',
		text: 'm does not see 2 attachments of this conversation: a line stands in the place of each. Choose a model that takes images if they matter.',
		action: 'choose'
	});
	expect(noticesOf('m', blind, NO_SETTINGS, en.models, 'en', [text])).toEqual([]);
	expect(noticesOf('m', MODEL, NO_SETTINGS, en.models, 'en', [picture])).toEqual([]);
});

test('settings that a model refuses are named before a message is sent', () => {
	const [notice] = notices({}, { parameters: { temperature: 1, top_k: 5 }, reasoning: 'off' });
	expect(notice).toMatchObject({ action: 'reset', names: ['top_k', 'reasoning'] });
	expect(notice?.text).toContain('Top K, Reasoning');
	expect(notices({ reasoning: ['default', 'disabled'] }, { reasoning: 'off' })).toEqual([]);
});

test('facts of a model are short, in both languages', () => {
	expect(modelFacts(MODEL, en.models, 'en').join(' · ')).toBe('8K context · images · 42 tokens/s · 4.7 GB Q4_K_M');
	expect(modelFacts({ ...MODEL, state: 'unloaded', bytes: null, quantization: null }, de.models, 'de')).toEqual([
		'nicht geladen',
		'lädt in etwa 30 s',
		'8K Kontext',
		'Bilder',
		'42 Token/s'
	]);
	const loading = { ...MODEL, state: 'loading' as const, loading: { progress: 0.4, etaSeconds: null } };
	expect(modelFacts(loading, en.models, 'en')[0]).toBe('loading 40 %');
});

test('sizes and contexts are rounded as people say them', () => {
	expect([contextInWords(131_072, 'en'), contextInWords(1_000, 'en'), contextInWords(1000, 'de')]).toEqual(['128K', '1K', '1000']);
	expect([sizeInWords(1, 'en'), sizeInWords(68_000_000_000, 'en')]).toEqual(['1 MB', '68 GB']);
});

test('attachments that a model does not take are named', () => {
	expect(misfitInWords(MODEL, ['image'], en.models)).toBeNull();
	expect(misfitInWords(MODEL, ['audio', 'document'], en.models)).toBe('does not accept: audio, documents');
});
