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

/** Keep it where the browser has room, else in the memory of this tab. Returns whether it is stored. */
export async function keepIfRoom(attachment: Attachment): Promise<boolean> {
	if (await hasRoom(attachment.bytes)) await keepAttachment(attachment);
	else unstored.set(attachment.id, attachment);
	return !unstored.has(attachment.id);
}

/** So much space stays free for messages, in bytes. */
const RESERVE = 16 * 1024 * 1024;

/** Whether the browser has space for so many bytes; true where it does not say. */
export async function hasRoom(bytes: number): Promise<boolean> {
	await chatStorage.measure();
	const budget = chatStorage.budget;
	return !budget || budget.quota - budget.usage >= bytes + RESERVE;
}

export async function dropAttachment(id: string): Promise<void> {
	unstored.delete(id);
	await chatStorage.write(() => removeAttachments([id]));
}
