import type { Attachment } from '$lib/chat_types';
import { readAttachments } from '$lib/storage/attachments';
import { chatStorage } from './storage.svelte';

/** The attachments of a sent message that this browser has, in their order. */
export function sentAttachments(ids: string[]): Promise<Attachment[]> {
	return ids.length === 0 ? Promise.resolve([]) : chatStorage.read(() => readAttachments(ids), []);
}
