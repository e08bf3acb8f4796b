import { expect, test } from 'vitest';
import { newConversation, newSettings } from '../../src/lib/services/chat/new_records';
import { changedIn, factsOf, isOfChat, leftHere, withFacts } from '../../src/lib/services/chat/sync/facts';

const conversation = newConversation({
	title: 'Sorting',
	isTitled: true,
	folder: 'Code',
	isPinned: true,
	leaf: 'c0ffee00-0000-4000-8000-000000000001',
	settings: { ...newSettings(), model: 'stub', parameters: { temperature: 0.5 } }
});

test('the facts of a conversation come back on another device', () => {
	const facts = factsOf(conversation);
	const fresh = newConversation({ id: conversation.id, createdAt: conversation.createdAt });
	expect(withFacts(fresh, facts, changedIn({}, facts))).toEqual(conversation);
	expect(isOfChat(facts)).toBe(true);
	expect(isOfChat(factsOf(conversation, true))).toBe(false);
});

test('facts keep the bounds of metadata, whatever the settings are', () => {
	for (const instructions of ['', 'a'.repeat(1_000), '😀'.repeat(3_000), 'x'.repeat(32_000), '\ud83d']) {
		const facts = factsOf({ ...conversation, title: '😀'.repeat(400), settings: { ...conversation.settings, instructions } });
		expect(Object.keys(facts).length).toBeLessThanOrEqual(16);
		for (const value of Object.values(facts)) {
			expect([...value].length).toBeLessThanOrEqual(512);
			expect(value).not.toMatch(/\p{Surrogate}/u);
		}
	}
});

test('instructions that do not fit stay as they are on the other device', () => {
	const long = { ...conversation, settings: { ...conversation.settings, instructions: 'x'.repeat(9_000), model: 'roomy' } };
	const facts = factsOf(long);
	const there = { ...conversation, settings: { ...conversation.settings, instructions: 'mine' } };
	const { settings } = withFacts(there, facts, ['settings']);
	expect(settings.instructions).toBe('mine');
	expect(settings.model).toBe('roomy');
});

test('settings that do not reach other devices are known', () => {
	const { settings } = conversation;
	expect(leftHere(settings)).toBeNull();
	expect(leftHere({ ...settings, instructions: 'x'.repeat(3_000) })).toBeNull();
	expect(leftHere({ ...settings, instructions: 'x'.repeat(9_000) })).toBe('instructions');
	expect(leftHere({ ...settings, format: { name: 'f', schema: { description: 'x'.repeat(9_000) } } })).toBe('settings');
});

test('only what differs is changed', () => {
	const before = factsOf(conversation);
	const after = factsOf({ ...conversation, title: 'Radix', settings: { ...conversation.settings, reasoning: 'high' } });
	expect(changedIn(before, after)).toEqual(['title', 'settings']);
	expect(changedIn(before, before)).toEqual([]);
});

test('facts of another program change nothing that they do not fit', () => {
	const hostile = { title: 'a\u202eb\n<img>', folder: ' ', settings_0: '{"model": 5}', changed_at: '1e99', leaf: '' };
	const changed = withFacts(conversation, hostile, ['title', 'folder', 'settings', 'changed_at', 'leaf']);
	expect(changed.title).toBe('a b <img>');
	expect(changed.folder).toBeNull();
	expect(changed.leaf).toBeNull();
	expect(changed.settings).toEqual(conversation.settings);
	expect(changed.changedAt).toBeLessThanOrEqual(Date.now());
});
