import type { Conversation } from '$lib/chat_types';
import { asProblem } from '$lib/services/call';
import { changeMetadata, deleteItems, markOf, readConversation, type ServerConversation } from '$lib/services/chat/sync/conversation_calls';
import { changedIn, factsOf, withFacts } from '$lib/services/chat/sync/facts';
import { pathTo } from '$lib/services/chat/tree';
import type { SyncRecord } from '$lib/storage/records';
import { changeSync, readSync } from '$lib/storage/sync';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { platform } from '$lib/stores/chat/platform.svelte';
import { runs } from '$lib/stores/chat/runs.svelte';
import { chatStorage } from '$lib/stores/chat/storage.svelte';
import { followTurns } from './follow_turns';
import { moveThere } from './moves';
import { pull, showLeaf } from './pull';
import { endedAnswers, push } from './push';
import { checkTenant, locked, placed, unlessMissing, unlessRefused, type PlacedRecord } from './record';
import { isDue, tellRemoval } from './removals';

/** Exchange a conversation; a problem is left to the next time. */
export async function tryExchange(id: string, listed?: ServerConversation): Promise<void> {
	try {
		await exchange(id, listed);
	} catch (error) {
		asProblem(error);
	}
}

/** Bring a conversation and its copy together. `listed`: as a list has just had it. Raises `ApiProblem`. */
export function exchange(id: string, listed?: ServerConversation): Promise<void> {
	return locked(id, async () => {
		const record = await chatStorage.read(() => readSync(id), undefined);
		const conversation = conversations.get(id);
		if (record && record.tenant !== platform.tenant) return;
		if (record && (record.removedAt !== null || (conversation?.place === 'browser' && !record.isMoving))) {
			if (isDue(record)) await tellRemoval(record);
		} else if (conversation && record?.isMoving) await moveThere(conversation, record);
		else if (conversation?.place === 'server') await exchangeAll(conversation, await placed(conversation, record), listed);
	});
}

async function exchangeAll(conversation: Conversation, record: PlacedRecord, listed?: ServerConversation): Promise<void> {
	const { id } = conversation;
	for (const item of record.removedItems) {
		await deleteItems(record.serverId, item).catch(unlessMissing);
		await changeSync(id, (known) => known && { ...known, removedItems: known.removedItems.filter((one) => one !== item) });
	}
	const hasDeleted = record.removedItems.length > 0;
	// what the list had before these answers ended says nothing of them: they would be added beside their own items
	const ended = await endedAnswers(id);
	const known = hasDeleted || ended.size > 0 ? undefined : listed;
	const remote = known ?? (await readConversation(record.serverId).catch(unlessMissing));
	if (!remote) {
		await checkTenant(record.tenant);
		await conversations.drop([id]);
		return;
	}
	const mark = markOf(remote);
	// before what is pulled moves the end of the thread, which is no change by a person
	const mine = changedIn(record.here, factsOf(conversation));
	const state = mark === record.mark ? {} : await pull(conversation, hasDeleted ? { ...record, mark: '' } : record, remote);
	const facts = await exchangeFacts(id, record, remote, mine);
	await push(conversations.get(id) ?? conversation, record.serverId, remote.turns, ended).catch(unlessRefused);
	await changeSync(id, (latest) => latest && { ...latest, mark, ...state, ...facts });
	if (runs.watches(id)) await followTurns(id, remote.turns).catch(unlessMissing);
}

/** Title, folder, ...: what was changed here goes there, other changes come here. Returns both as they are then. */
async function exchangeFacts(
	id: string,
	record: SyncRecord,
	remote: ServerConversation,
	mine: ReturnType<typeof changedIn>
): Promise<Partial<SyncRecord>> {
	const conversation = conversations.get(id);
	if (!conversation) return {};
	const theirs = changedIn(record.there, remote.metadata).filter((name) => !mine.includes(name));
	const leaf = remote.metadata.leaf ?? null;
	const changed = withFacts(conversation, remote.metadata, theirs.filter((name) => name !== 'leaf'));
	if (theirs.length > 0) await conversations.accept(changed);
	if (theirs.includes('leaf') && (await mayShow(changed, leaf))) await showLeaf(id, leaf);
	const here = factsOf(conversations.get(id) ?? changed);
	// by a person during this exchange; the end of the thread is moved by what was pulled, too
	const late = changedIn(record.here, here).filter((name) => name !== 'leaf' && !theirs.includes(name));
	if (mine.length === 0 && late.length === 0) return { here, there: remote.metadata };
	return { here, there: (await changeMetadata(remote.id, here)).metadata };
}

/** Whether a leaf of another device is shown: of a thread that is being read only what continues it. */
async function mayShow({ id, leaf: shown }: Conversation, leaf: string | null): Promise<boolean> {
	const messages = new Map((await conversations.messages(id)).map((message) => [message.id, message]));
	if (leaf === null || !messages.has(leaf)) return false;
	return !runs.watches(id) || shown === null || pathTo(messages, leaf).includes(shown);
}
