import type { Attachment } from '$lib/chat_types';
import { database } from './database';

/** Those that exist of these ids, in their order. */
export async function readAttachments(ids: string[]): Promise<Attachment[]> {
	const tx = (await database()).transaction('attachments');
	const found = await Promise.all(ids.map((id) => tx.store.get(id)));
	return found.filter((attachment) => attachment !== undefined);
}

export async function putAttachment(attachment: Attachment): Promise<void> {
	await (await database()).put('attachments', attachment);
}

export async function removeAttachments(ids: string[]): Promise<void> {
	const tx = (await database()).transaction('attachments', 'readwrite');
	await Promise.all([...ids.map((id) => tx.store.delete(id)), tx.done]);
}
