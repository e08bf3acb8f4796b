import type { Attachment, Conversation, Message } from '$lib/chat_types';
import { database } from './database';

/** A conversation with all that belongs to it. */
export interface WholeConversation {
	conversation: Conversation;
	messages: Message[];
	attachments: Attachment[];
}

/** All conversations, in no order. */
export async function readConversations(): Promise<Conversation[]> {
	return (await database()).getAll('conversations');
}

export async function readConversation(id: string): Promise<Conversation | undefined> {
	return (await database()).get('conversations', id);
}

export async function putConversation(conversation: Conversation): Promise<void> {
	await (await database()).put('conversations', conversation);
}

/** A conversation with its messages and attachments; undefined if there is none. */
export async function readWhole(id: string): Promise<WholeConversation | undefined> {
	const tx = (await database()).transaction(['conversations', 'messages', 'attachments']);
	const [conversation, messages, attachments] = await Promise.all([
		tx.objectStore('conversations').get(id),
		tx.objectStore('messages').index('conversation').getAll(id),
		tx.objectStore('attachments').index('conversation').getAll(id)
	]);
	return conversation && { conversation, messages, attachments };
}

/** Write whole conversations: all of them or none. */
export async function putWhole(all: WholeConversation[]): Promise<void> {
	const tx = (await database()).transaction(['conversations', 'messages', 'attachments'], 'readwrite');
	const writes = all.flatMap((one) => [
		tx.objectStore('conversations').put(one.conversation),
		...one.messages.map((message) => tx.objectStore('messages').put(message)),
		...one.attachments.map((attachment) => tx.objectStore('attachments').put(attachment))
	]);
	await Promise.all([...writes, tx.done]);
}

/**
 * Remove conversations with all that belongs to them. The record of one that is on the platform says that it has to be
 * removed there, unless the platform `isTold` already.
 */
export async function removeConversations(ids: string[], isTold = false): Promise<void> {
	const tx = (await database()).transaction(['conversations', 'messages', 'attachments', 'drafts', 'streams', 'sync'], 'readwrite');
	for (const id of ids) {
		const sync = await tx.objectStore('sync').get(id);
		if (sync?.serverId != null && !isTold) void tx.objectStore('sync').put({ ...sync, removedAt: Date.now() });
		else if (sync) void tx.objectStore('sync').delete(id);
		void tx.objectStore('conversations').delete(id);
		void tx.objectStore('drafts').delete(id);
		for (const table of ['messages', 'attachments'] as const) {
			const store = tx.objectStore(table);
			for (const key of await store.index('conversation').getAllKeys(id)) {
				void store.delete(key);
				if (table === 'messages') void tx.objectStore('streams').delete(key);
			}
		}
	}
	await tx.done;
}

/** Remove all that the browser keeps of the chat, presets and settings included. */
export async function removeEverything(): Promise<void> {
	const db = await database();
	const tx = db.transaction([...db.objectStoreNames], 'readwrite');
	await Promise.all([...db.objectStoreNames].map((name) => tx.objectStore(name).clear()));
	await tx.done;
}
