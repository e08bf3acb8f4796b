import { language } from '$lib/chat_text/language.svelte';
import type { Conversation, Place } from '$lib/chat_types';
import { asProblem, type ApiProblem } from '$lib/services/call';
import { changeMetadata, deleteConversation, readConversation } from '$lib/services/chat/sync/conversation_calls';
import { factsOf } from '$lib/services/chat/sync/facts';
import type { SyncRecord } from '$lib/storage/records';
import { changeSync, readSync } from '$lib/storage/sync';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { platform } from '$lib/stores/chat/platform.svelte';
import { runs } from '$lib/stores/chat/runs.svelte';
import { pull } from './pull';
import { push } from './push';
import { isPassing, locked, newRecord, placed, unlessMissing, type PlacedRecord } from './record';
import { tellRemoval } from './removals';

/** Why a conversation cannot be moved now, in words. */
class NotMoved extends Error {}

/** Keep a conversation elsewhere. Raises `NotMoved` with the reason; a move that was cut goes on later. */
export function move(id: string, place: Place): Promise<void> {
	return locked(id, async () => {
		const conversation = conversations.get(id);
		const { tenant } = platform;
		if (!conversation || tenant === null || conversation.place === place) return;
		if (runs.of(id).length > 0) throw new NotMoved(language.text.shell.notMovedRunning);
		try {
			const record = await readSync(id);
			if (place === 'browser') await moveHere(conversation, await placed(conversation, record));
			else {
				if (record && !record.isMoving) await tellRemoval(record);
				await moveThere(conversation, record?.isMoving ? record : await beginMove(conversation, tenant));
			}
		} catch (error) {
			throw new NotMoved(reasonOf(asProblem(error)));
		}
	});
}

async function beginMove({ id }: Conversation, tenant: string): Promise<SyncRecord> {
	await clearItems(id); // of an earlier copy there
	const record = { ...newRecord(id, tenant), isMoving: true };
	await changeSync(id, () => record);
	return record;
}

/** Go on with a move to the platform. Raises `ApiProblem`; what the platform refuses for good stays here. */
export async function moveThere(conversation: Conversation, begun: SyncRecord): Promise<void> {
	const { id } = conversation;
	const { tenant } = begun;
	let record: PlacedRecord | undefined;
	try {
		record = await placed(conversation, begun);
		const { serverId } = record;
		await push(conversation, serverId, [], null);
		const { metadata } = await changeMetadata(serverId, factsOf(conversation));
		await conversations.accept({ ...(conversations.get(id) ?? conversation), place: 'server', serverId, tenant });
		await changeSync(id, (known) => known && { ...known, isMoving: false, mark: '', here: metadata, there: metadata });
	} catch (error) {
		const { status } = asProblem(error);
		if (status === 404) await changeSync(id, (known) => known && { ...known, serverId: null }); // removed there meanwhile
		else if (!isPassing(status)) {
			if (record) await deleteConversation(record.serverId).catch(unlessMissing);
			await changeSync(id, () => null);
		}
		if (!isPassing(status)) await clearItems(id);
		throw error;
	}
}

async function moveHere(conversation: Conversation, record: PlacedRecord): Promise<void> {
	const { id } = conversation;
	await pull(conversation, { ...record, mark: '' }, await readConversation(record.serverId));
	await conversations.accept({ ...(conversations.get(id) ?? conversation), place: 'browser', serverId: null, tenant: null });
	await changeSync(id, (known) => known && { ...known, removedAt: 0 });
	await tellRemoval(record).catch(asProblem); // the next exchange does it otherwise
}

/** Forget which items hold the messages. */
async function clearItems(id: string): Promise<void> {
	const held = (await conversations.messages(id)).filter(({ itemIds }) => itemIds.length > 0);
	await conversations.acceptMessages(id, held.map((message) => ({ ...message, itemIds: [] })));
}

function reasonOf({ code, message, status }: ApiProblem): string {
	const words = language.text.shell;
	if (code === 'conversation_quota_exceeded') return language.text.settings.quotaFull;
	if (code === 'request_too_large' || status === 413) return words.notMovedLarge;
	if (status === 401) return words.signInNeeded;
	return isPassing(status) ? words.notMovedYet : message;
}
