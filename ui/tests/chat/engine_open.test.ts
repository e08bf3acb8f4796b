import 'fake-indexeddb/auto';
import { expect, test } from 'vitest';
import { newConversation, newUserMessage } from '../../src/lib/services/chat/new_records';
import { conversations } from '../../src/lib/stores/chat/conversations.svelte';

test('messages that come while a conversation is opened are shown', async () => {
	const base = newConversation({});
	const message = newUserMessage(base.id, null, 'Hello', []);
	await conversations.accept({ ...base, leaf: message.id });
	const opening = conversations.open(base.id);
	conversations.add(base.id, [message]);
	expect((await opening)?.path).toEqual([message.id]);
});

test('messages that come after a conversation is opened are shown', async () => {
	const base = newConversation({});
	const message = newUserMessage(base.id, null, 'Hello', []);
	await conversations.accept({ ...base, leaf: message.id });
	const tree = await conversations.open(base.id);
	expect(tree?.path).toEqual([]);
	conversations.add(base.id, [message]);
	expect(tree?.path).toEqual([message.id]);
});

test('a conversation that is not there is not opened', async () => {
	expect(await conversations.open('none')).toBeUndefined();
});
