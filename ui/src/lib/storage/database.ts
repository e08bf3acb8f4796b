import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { Attachment, Conversation, Message, Preset } from '$lib/chat_types';
import { migrate, VERSION } from './migrations';
import type { Draft, StreamRecord, SyncRecord } from './records';

export const NAME = 'stoker-chat';

/** The tables of the chat. Keys are the records' ids; `settings` has keys of its own. */
export interface ChatTables extends DBSchema {
	conversations: { key: string; value: Conversation };
	messages: { key: string; value: Message; indexes: { conversation: string } };
	attachments: { key: string; value: Attachment; indexes: { conversation: string } };
	drafts: { key: string; value: Draft };
	presets: { key: string; value: Preset };
	streams: { key: string; value: StreamRecord };
	settings: { key: string; value: unknown };
	sync: { key: string; value: SyncRecord };
}

export type ChatDatabase = IDBPDatabase<ChatTables>;

let opening: Promise<ChatDatabase> | undefined;
const listeners = new Set<() => void>();

/**
 * The database of the chat, which is opened once. Raises the browser's error where it refuses storage; the next call tries
 * again.
 */
export function database(): Promise<ChatDatabase> {
	opening ??= open().catch((error: unknown) => {
		opening = undefined;
		throw error;
	});
	return opening;
}

async function open(): Promise<ChatDatabase> {
	if (!globalThis.indexedDB) throw new DOMException('this browser has no IndexedDB', 'NotSupportedError');
	const events = {
		/** Another tab has a newer page, and waits until this one lets go. */
		blocking: () => {
			void close();
			for (const tell of listeners) tell();
		},
		terminated: () => {
			opening = undefined;
		}
	};
	try {
		return await openDB<ChatTables>(NAME, VERSION, {
			upgrade: (db, from, _to, transaction) => migrate(db as unknown as IDBPDatabase, from, transaction as never),
			...events
		});
	} catch (error) {
		// a newer page made the database, and this one came from a cache: newer versions only add to it
		if (error instanceof DOMException && error.name === 'VersionError') return openDB<ChatTables>(NAME, undefined, events);
		throw error;
	}
}

/** Close it: the next use opens it again. */
export async function close(): Promise<void> {
	const db = await opening?.catch(() => undefined);
	opening = undefined;
	db?.close();
}

/** Call `tell` when another tab needs this page to be loaded anew. Returns what ends it. */
export function onOutdated(tell: () => void): () => void {
	listeners.add(tell);
	return () => listeners.delete(tell);
}
