import type { Attachment } from '$lib/chat_types';
import { putAttachment, readAttachments, removeAttachments } from '$lib/storage/attachments';
import { chatStorage } from './storage.svelte';

/** Those that the browser did not store, by their ids: they are in this tab's memory only. */
const unstored = new Map<string, Attachment>();

/** Those of these ids that this browser has, in their order. */
export async function attachmentsOf(ids: string[]): Promise<Attachment[]> {
	if (ids.length === 0) return [];
	const stored = await chatStorage.read(() => readAttachments(ids), []);
	return ids.map((id) => unstored.get(id) ?? stored.find((one) => one.id === id)).filter((one) => one !== undefined);
}

export async function keepAttachment(attachment: Attachment): Promise<void> {
	if (await chatStorage.write(() => putAttachment(attachment))) unstored.delete(attachment.id);
	else unstored.set(attachment.id, attachment);
}

export async function dropAttachment(id: string): Promise<void> {
	unstored.delete(id);
	await chatStorage.write(() => removeAttachments([id]));
}
