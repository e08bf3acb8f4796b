import { language } from '$lib/chat_text/language.svelte';
import type { Conversation } from '$lib/chat_types';
import { ApiProblem, asProblem } from '$lib/services/call';
import { holdLock } from '$lib/services/chat/locks';
import { createConversation, listConversations } from '$lib/services/chat/sync/conversation_calls';
import { factsOf } from '$lib/services/chat/sync/facts';
import type { SyncRecord } from '$lib/storage/records';
import { changeSync } from '$lib/storage/sync';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { platform, tenantOf } from '$lib/stores/chat/platform.svelte';
import { session } from '$lib/stores/session.svelte';

/** The record of a conversation that is on the platform. */
export type PlacedRecord = SyncRecord & { serverId: string };

/** A record of which the platform knows nothing yet. */
export function newRecord(id: string, tenant: string): SyncRecord {
	const none = { serverId: null, isMoving: false, mark: '', lastItem: null, itemCount: 0, here: {}, there: {} };
	return { id, tenant, ...none, removedItems: [], removedAt: null };
}

/** The record of a conversation that is on the platform; it is created there if it is not. Raises `ApiProblem`. */
export async function placed(conversation: Conversation, known: SyncRecord | undefined): Promise<PlacedRecord> {
	if (known?.serverId != null) return known as PlacedRecord;
	const { id } = conversation;
	const tenant = known?.tenant ?? conversation.tenant ?? platform.tenant ?? '';
	await checkTenant(tenant);
	const facts = factsOf(conversation, known?.isMoving);
	const begun = known ?? newRecord(id, tenant);
	await changeSync(id, () => begun);
	// an earlier attempt may have created it, and its answer was lost
	const earlier = known ? (await listConversations(100)).data.find(({ metadata }) => metadata.id === id) : undefined;
	const made = earlier ?? (await createConversation(facts));
	const created = { serverId: made.id, here: facts, there: made.metadata };
	await changeSync(id, (latest) => ({ ...(latest ?? begun), ...created }));
	const latest = conversations.get(id);
	if (latest?.place === 'server') await conversations.accept({ ...latest, serverId: made.id, tenant });
	return { ...begun, ...created };
}

/** Raises `ApiProblem` unless the session of this browser is of that tenant: another tab may have changed it. */
export async function checkTenant(tenant: string): Promise<void> {
	await session.read();
	if (session.current && tenantOf(session.current) === tenant) return;
	throw new ApiProblem(session.current ? 401 : 0, 'session_ended', language.text.common.unreachable);
}

/** Do what no other tab may do meanwhile: with a conversation, or with the list of all (null). */
export async function locked(id: string | null, work: () => Promise<void>): Promise<void> {
	const name = id === null ? 'stoker-sync' : `stoker-sync-${id}`;
	await holdLock(name, new AbortController().signal, work, () => undefined);
}

// ---- problems

/** Whether a repeat may have another end. */
export function isPassing(status: number): boolean {
	return status === 0 || status === 401 || status === 429 || status >= 500;
}

/** For `catch`: what is not there is undefined. */
export function unlessMissing(error: unknown): undefined {
	if (asProblem(error).status !== 404) throw error;
}

/** For `catch`: what the platform refuses for good stays here alone. */
export function unlessRefused(error: unknown): undefined {
	if (isPassing(asProblem(error).status)) throw error;
}
