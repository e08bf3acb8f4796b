import { deleteConversation } from '$lib/services/chat/sync/conversation_calls';
import type { WholeConversation } from '$lib/storage/conversations';
import type { SyncRecord } from '$lib/storage/records';
import { changeSync } from '$lib/storage/sync';
import { ListReader } from './list';
import { unlessMissing } from './record';

/** A deletion waits so long for its undo, if its page has gone meanwhile. */
const UNDO_MS = 60_000;

/** Conversations whose removal cannot be undone any more. */
const settled = new Set<string>();

/** The removal of a conversation cannot be undone any more: its next exchange tells the platform. */
export function settle(id: string): void {
	settled.add(id);
}

/** Whether the platform may delete the conversation now. */
export function isDue({ id, removedAt }: SyncRecord): boolean {
	return settled.has(id) || Date.now() - (removedAt ?? 0) > UNDO_MS;
}

/** Delete a conversation on the platform, and its record here. Raises `ApiProblem`. */
export async function tellRemoval({ id, serverId }: SyncRecord): Promise<void> {
	if (serverId !== null) await deleteConversation(serverId).catch(unlessMissing);
	await changeSync(id, () => null);
	settled.delete(id);
}

/** A removed conversation that is brought back: if the platform has it no more, it is kept in the browser. */
export async function restored(whole: WholeConversation): Promise<WholeConversation> {
	let isThere = false;
	await changeSync(whole.conversation.id, (record) => {
		isThere = record !== undefined;
		return record && { ...record, removedAt: null };
	});
	if (isThere) return whole;
	const messages = whole.messages.map((message) => ({ ...message, itemIds: [] }));
	return { ...whole, messages, conversation: { ...whole.conversation, place: 'browser', serverId: null, tenant: null } };
}

/** Delete all conversations of the chat on the platform. Returns how many could not be deleted. Raises `ApiProblem`. */
export async function removeAll(): Promise<number> {
	let failed = 0;
	const { listed } = await new ListReader().read();
	for (const { id } of listed.filter(({ metadata }) => metadata.chat !== undefined)) {
		await deleteConversation(id)
			.catch(unlessMissing)
			.catch(() => (failed += 1));
	}
	return failed;
}
