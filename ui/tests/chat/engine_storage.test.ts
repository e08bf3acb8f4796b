import 'fake-indexeddb/auto';
import { openDB } from 'idb';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Message } from '../../src/lib/chat_types';
import { newAnswer, newConversation, newUserMessage } from '../../src/lib/services/chat/new_records';
import { close, database, NAME } from '../../src/lib/storage/database';
import { putWhole, readConversations, readWhole, removeConversations, removeEverything } from '../../src/lib/storage/conversations';
import { readDraft } from '../../src/lib/storage/drafts';
import { putAnswer, readAnswer, readStreams } from '../../src/lib/storage/messages';
import { VERSION } from '../../src/lib/storage/migrations';
import { readSetting } from '../../src/lib/storage/settings';
import old from './fixtures/database_1.json';

beforeEach(() => close());
afterEach(async () => {
	await close();
	await new Promise((resolve) => (indexedDB.deleteDatabase(NAME).onsuccess = resolve));
});

/** Make the database as the page of that version has made it. */
async function makeOld(): Promise<void> {
	const db = await openDB(NAME, old.version, {
		upgrade(db) {
			for (const [name, table] of Object.entries(old.tables)) {
				const store = db.createObjectStore(name, { keyPath: table.keyPath });
				for (const index of table.indexes) store.createIndex(index, index);
				for (const record of table.records as unknown[]) {
					if (Array.isArray(record)) void store.put(record[1], record[0] as string);
					else void store.put(record);
				}
			}
		}
	});
	db.close();
}

test('a database of the first version opens with all that it has', async () => {
	await makeOld();
	const db = await database();
	expect(db.version).toBe(VERSION);
	const whole = await readWhole('c1');
	expect(whole?.conversation).toEqual(old.tables.conversations.records[0]);
	expect(whole?.messages).toEqual(old.tables.messages.records);
	expect((await readDraft('c1'))?.text).toBe('and 5+6?');
	expect(await readStreams()).toEqual(old.tables.streams.records);
	expect(await readSetting('language')).toBe('de');
});

test('a database of a newer page opens, and is written to', async () => {
	await close();
	const newer = await openDB(NAME, VERSION + 3, {
		async upgrade(db, from, _to, transaction) {
			const { migrate } = await import('../../src/lib/storage/migrations');
			await migrate(db, from, transaction as never);
			db.createObjectStore('of_the_future');
		}
	});
	newer.close();
	const conversation = newConversation();
	await putWhole([{ conversation, messages: [], attachments: [] }]);
	expect(await readConversations()).toEqual([conversation]);
});

test('a conversation is removed with all that belongs to it, and nothing else', async () => {
	const [one, two] = [newConversation(), newConversation()];
	const messagesOf = (id: string): Message[] => [newUserMessage(id, null, 'Hello', [])];
	await putWhole([one, two].map((conversation) => ({ conversation, messages: messagesOf(conversation.id), attachments: [] })));
	const answer = newAnswer(one.id, null, 'stub');
	await putAnswer(answer, { id: answer.id, conversation: one.id, body: '{}', offset: 0, sequence: -1, reasonsSince: null, isStopped: false });
	await removeConversations([one.id]);
	expect(await readWhole(one.id)).toBeUndefined();
	expect(await readAnswer(answer.id)).toEqual({});
	expect((await readWhole(two.id))?.messages).toHaveLength(1);
	await removeEverything();
	expect(await readConversations()).toEqual([]);
});

test('an answer and how far it was read are one write', async () => {
	const answer = newAnswer('c', null, 'stub', { text: 'tok0' });
	const stream = { id: answer.id, conversation: 'c', body: null, offset: 99, sequence: 4, reasonsSince: null, isStopped: false };
	await putAnswer(answer, stream);
	expect(await readAnswer(answer.id)).toEqual({ message: answer, stream });
	await putAnswer({ ...answer, status: 'done' }, null);
	expect(await readAnswer(answer.id)).toEqual({ message: { ...answer, status: 'done' } });
});
