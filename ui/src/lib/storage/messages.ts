import type { Message } from '$lib/chat_types';
import { database } from './database';
import type { StreamRecord } from './records';

export async function readMessage(id: string): Promise<Message | undefined> {
	return (await database()).get('messages', id);
}

/** The messages of a conversation, in no order. */
export async function readMessages(conversation: string): Promise<Message[]> {
	return (await database()).getAllFromIndex('messages', 'conversation', conversation);
}

export async function putMessages(messages: Message[]): Promise<void> {
	const tx = (await database()).transaction('messages', 'readwrite');
	await Promise.all([...messages.map((message) => tx.store.put(message)), tx.done]);
}

/** Remove messages of a conversation. `items`: what the platform has to remove for it. */
export async function removeMessages(ids: string[], conversation?: string, items: string[] = []): Promise<void> {
	const tx = (await database()).transaction(['messages', 'streams', 'sync'], 'readwrite');
	for (const id of ids) {
		void tx.objectStore('messages').delete(id);
		void tx.objectStore('streams').delete(id);
	}
	const sync = conversation !== undefined && items.length > 0 ? await tx.objectStore('sync').get(conversation) : undefined;
	if (sync) void tx.objectStore('sync').put({ ...sync, removedItems: [...sync.removedItems, ...items] });
	await tx.done;
}

/** Write an answer with how far it was read; null: it has ended. */
export async function putAnswer(message: Message, stream: StreamRecord | null): Promise<void> {
	const tx = (await database()).transaction(['messages', 'streams'], 'readwrite');
	void tx.objectStore('messages').put(message);
	if (stream) void tx.objectStore('streams').put(stream);
	else void tx.objectStore('streams').delete(message.id);
	await tx.done;
}

/** Write messages, and the requests of the answers among them: all or none. */
export async function putAsked(messages: Message[], streams: StreamRecord[]): Promise<void> {
	const tx = (await database()).transaction(['messages', 'streams'], 'readwrite');
	for (const message of messages) void tx.objectStore('messages').put(message);
	for (const stream of streams) void tx.objectStore('streams').put(stream);
	await tx.done;
}

/** An answer and how far it was read. */
export async function readAnswer(id: string): Promise<{ message?: Message; stream?: StreamRecord }> {
	const tx = (await database()).transaction(['messages', 'streams']);
	const [message, stream] = await Promise.all([tx.objectStore('messages').get(id), tx.objectStore('streams').get(id)]);
	return { ...(message && { message }), ...(stream && { stream }) };
}

/** The answers that have not ended. */
export async function readStreams(): Promise<StreamRecord[]> {
	return (await database()).getAll('streams');
}
