import { language } from '$lib/chat_text/language.svelte';
import type { AnswerError, Attachment, AnswerMessage, Conversation, Message, Place } from '$lib/chat_types';
import { ApiProblem, asProblem } from '$lib/services/call';
import { holdLock } from '$lib/services/chat/locks';
import { newConversation, newId } from '$lib/services/chat/new_records';
import type { RequestParts } from '$lib/services/chat/request';
import {
	changeMetadata,
	createConversation,
	deleteConversation,
	deleteItems,
	listConversations,
	markOf,
	readConversation,
	type ServerConversation
} from '$lib/services/chat/sync/conversation_calls';
import { changedIn, factsOf, isOfChat, withFacts } from '$lib/services/chat/sync/facts';
import { isUuid } from '$lib/services/chat/sync/item_ids';
import { answerMetadata, inputItem, isWhole } from '$lib/services/chat/sync/items_of';
import { pathTo } from '$lib/services/chat/tree';
import type { WholeConversation } from '$lib/storage/conversations';
import type { SyncRecord } from '$lib/storage/records';
import { changeSync, readSync, readSyncs } from '$lib/storage/sync';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { notices } from '$lib/stores/chat/notices.svelte';
import { platform, tenantOf } from '$lib/stores/chat/platform.svelte';
import { runs } from '$lib/stores/chat/runs.svelte';
import { chatStorage } from '$lib/stores/chat/storage.svelte';
import { session } from '$lib/stores/session.svelte';
import { followTurns } from './follow_turns';
import { ListReader } from './list';
import { pull, showLeaf } from './pull';
import { endedAnswers, push } from './push';

/** A deletion waits so long for its undo, if its page has gone meanwhile. */
const UNDO_MS = 60_000;
/** A first message waits so long for its conversation on the platform. */
const CREATE_MS = 4_000;
/** So many conversations of a list are copied at once; the others when they are opened. */
const COPIED = 100;

/** Why a conversation cannot be moved now, in words. */
export class NotMoved extends Error {}

/** Exchanges the conversations of the platform with their copies here (docs/decisions/0046). */
class SyncStore {
	#list = new ListReader();
	#tenant: string | null = null;
	#hadCopies = false;
	#round: Promise<void> | undefined;
	/** Conversations whose removal cannot be undone any more. */
	#settled = new Set<string>();

	/** Read the list of the platform, and exchange what has changed there or here. Raises `ApiProblem`. */
	round(): Promise<void> {
		this.#round ??= this.#doRound().finally(() => (this.#round = undefined));
		return this.#round;
	}

	async #doRound(): Promise<void> {
		const tenant = platform.tenant;
		if (tenant === null) return;
		await conversations.reading;
		const before = new Set((await chatStorage.read(readSyncs, [])).map(({ serverId }) => serverId));
		// what the list has said before counts no more: of another tenant, or after all copies were deleted
		if (tenant !== this.#tenant || (this.#hadCopies && before.size === 0)) this.#list = new ListReader();
		this.#tenant = tenant;
		this.#hadCopies = before.size > 0;
		const { listed, isWhole, quota } = await this.#list.read();
		platform.quota = quota;
		const own = listed.filter(({ metadata }) => isOfChat(metadata));
		const due: { id: string; remote?: ServerConversation }[] = [];
		const gone: string[] = [];
		await locked('stoker-sync', async () => {
			const rows = (await chatStorage.read(readSyncs, [])).filter((row) => row.tenant === tenant);
			const byServerId = new Map(rows.map((row) => [row.serverId, row]));
			const fresh = own.filter(({ id }) => !byServerId.has(id));
			// another tab may have signed in as another tenant: then the list is not of this one
			if (fresh.length > 0) await checkTenant(tenant);
			for (const [at, remote] of fresh.entries()) {
				const id = await adopt(remote, tenant);
				if (at < COPIED) due.push({ id, remote });
			}
			for (const row of rows) {
				const remote = own.find(({ id }) => id === row.serverId);
				const isNew = remote && (row.mark === '' ? runs.watches(row.id) || COPIED > due.length : markOf(remote) !== row.mark);
				const isFollowed = remote && remote.turns.length > 0 && runs.watches(row.id);
				if (isNew || isFollowed) due.push({ id: row.id, remote });
				else if (isUnsettled(row)) due.push({ id: row.id });
				else if (isWhole && !remote && before.has(row.serverId)) gone.push(row.id);
			}
			if (gone.length === 0) return;
			await checkTenant(tenant);
			await conversations.drop(gone);
		});
		for (const { id, remote } of due) await this.tryExchange(id, remote);
	}

	/** Exchange a conversation; a problem is left to the next time. */
	async tryExchange(id: string, remote?: ServerConversation): Promise<void> {
		try {
			await this.exchange(id, remote);
		} catch (error) {
			asProblem(error);
		}
	}

	/** Bring a conversation and its copy together. `remote`: as a list has just had it. Raises `ApiProblem`. */
	exchange(id: string, remote?: ServerConversation): Promise<void> {
		return lockedOne(id, async () => {
			const row = await chatStorage.read(() => readSync(id), undefined);
			const conversation = conversations.get(id);
			if (row && row.tenant !== platform.tenant) return;
			if (row && (row.removedAt !== null || (conversation?.place === 'browser' && !row.isMoving))) await this.#tellRemoval(row);
			else if (conversation && row?.isMoving) await this.#moveThere(conversation, row);
			else if (conversation?.place === 'server') await this.#exchange(conversation, await created(conversation, row), remote);
		});
	}

	async #exchange(conversation: Conversation, row: SyncRecord & { serverId: string }, listed?: ServerConversation): Promise<void> {
		const { id } = conversation;
		for (const item of row.removedItems) {
			await deleteItems(row.serverId, item).catch(unlessMissing);
			await changeSync(id, (known) => known && { ...known, removedItems: known.removedItems.filter((one) => one !== item) });
		}
		const hasDeleted = row.removedItems.length > 0;
		// what the list had before these answers ended says nothing of them: they would be added beside their own items
		const ended = await endedAnswers(id);
		const known = hasDeleted || ended.size > 0 ? undefined : listed;
		const remote = known ?? (await readConversation(row.serverId).catch(unlessMissing));
		if (!remote) {
			await checkTenant(row.tenant);
			await conversations.drop([id]);
			return;
		}
		const mark = markOf(remote);
		// before what is pulled moves the end of the thread, which is no change by a person
		const mine = changedIn(row.here, factsOf(conversation));
		const state = mark === row.mark ? {} : await pull(conversation, hasDeleted ? { ...row, mark: '' } : row, remote);
		const facts = await this.#exchangeFacts(id, row, remote, mine);
		await push(conversations.get(id) ?? conversation, row.serverId, remote.turns, ended).catch(unlessRefused);
		await changeSync(id, (latest) => latest && { ...latest, mark, ...state, ...facts });
		if (runs.watches(id)) await followTurns(id, remote.turns).catch(unlessMissing);
	}

	/** Title, folder, ...: what was changed here goes there, other changes come here. Returns both as they are then. */
	async #exchangeFacts(id: string, row: SyncRecord, remote: ServerConversation, mine: ReturnType<typeof changedIn>): Promise<Partial<SyncRecord>> {
		const conversation = conversations.get(id);
		if (!conversation) return {};
		const theirs = changedIn(row.there, remote.metadata).filter((name) => !mine.includes(name));
		const leaf = remote.metadata.leaf ?? null;
		const changed = withFacts(conversation, remote.metadata, theirs.filter((name) => name !== 'leaf'));
		if (theirs.length > 0) await conversations.accept(changed);
		if (theirs.includes('leaf') && (await mayShow(changed, leaf))) await showLeaf(id, leaf);
		const here = factsOf(conversations.get(id) ?? changed);
		if (mine.length === 0) return { here, there: remote.metadata };
		return { here, there: (await changeMetadata(remote.id, here)).metadata };
	}

	// ---- requests

	/**
	 * Let a conversation be ready for a request that follows `parent`: it is on the platform, and so are the answers before. A new
	 * one that cannot be there begins in the browser. Returns why the request cannot be sent; null if it can.
	 */
	async prepare(id: string, parent: string | null): Promise<AnswerError | null> {
		const conversation = conversations.get(id);
		if (conversation?.place !== 'server') return null;
		try {
			if (conversation.serverId === null) {
				await within(CREATE_MS, lockedOne(id, async () => void (await created(conversation, await readSync(id)))));
			} else if (conversations.tree(id)?.history(parent).some((message) => message.role === 'assistant' && isWhole(message) && message.itemIds.length === 0)) {
				await this.exchange(id);
			}
			return null;
		} catch (error) {
			const { code, message, retryAfter, status } = asProblem(error);
			const latest = conversations.get(id);
			if (latest?.serverId === null) {
				await stayHere(latest, isPassing(status));
				return null;
			}
			return { code, message, param: null, retryAfter: retryAfter ?? null };
		}
	}

	/** The input of a request of a conversation on the platform, its place, and what is kept with its answer. */
	async input(
		id: string,
		history: readonly Message[],
		files: readonly Attachment[],
		answer: AnswerMessage | null
	): Promise<Pick<RequestParts, 'input' | 'place' | 'metadata'>> {
		const at = history.findLastIndex(({ itemIds }) => itemIds.length > 0);
		const items = history.slice(at + 1).map((message) => (message.role === 'assistant' ? null : inputItem(message, files)));
		return {
			place: { id: conversations.get(id)?.serverId ?? '', parent: history[at]?.itemIds.at(-1) ?? null },
			input: (await Promise.all(items)).filter((item) => item !== null),
			...(answer && { metadata: answerMetadata(answer) })
		};
	}

	// ---- moves

	/** Keep a conversation elsewhere. Raises `NotMoved` with the reason; a move that was cut goes on later. */
	async move(id: string, place: Place): Promise<void> {
		await lockedOne(id, async () => {
			const conversation = conversations.get(id);
			const { tenant } = platform;
			if (!conversation || tenant === null || conversation.place === place) return;
			if (runs.of(id).length > 0) throw new NotMoved(language.text.shell.notMovedRunning);
			try {
				const row = await readSync(id);
				if (place === 'browser') await this.#moveHere(conversation, await created(conversation, row));
				else {
					if (row && !row.isMoving) await this.#tellRemoval(row, true);
					await this.#moveThere(conversation, row?.isMoving ? row : await beginMove(conversation, tenant));
				}
			} catch (error) {
				throw new NotMoved(reasonOf(asProblem(error)));
			}
		});
		void this.tryExchange(id);
	}

	async #moveThere(conversation: Conversation, begun: SyncRecord): Promise<void> {
		const { id } = conversation;
		const { tenant } = begun;
		let row: (SyncRecord & { serverId: string }) | undefined;
		try {
			row = await created(conversation, begun);
			await push(conversation, row.serverId, [], null);
			const { metadata } = await changeMetadata(row.serverId, factsOf(conversation));
			const { serverId } = row;
			await conversations.accept({ ...(conversations.get(id) ?? conversation), place: 'server', serverId, tenant });
			await changeSync(id, (known) => known && { ...known, isMoving: false, mark: '', here: metadata, there: metadata });
		} catch (error) {
			const { status } = asProblem(error);
			if (status === 404) await changeSync(id, (known) => known && { ...known, serverId: null }); // removed there meanwhile
			else if (!isPassing(status)) {
				if (row) await deleteConversation(row.serverId).catch(unlessMissing);
				await changeSync(id, () => null);
			}
			if (!isPassing(status)) await clearItems(id);
			throw error;
		}
	}

	async #moveHere(conversation: Conversation, row: SyncRecord & { serverId: string }): Promise<void> {
		const { id } = conversation;
		await pull(conversation, { ...row, mark: '' }, await readConversation(row.serverId));
		await conversations.accept({ ...(conversations.get(id) ?? conversation), place: 'browser', serverId: null, tenant: null });
		await changeSync(id, (known) => known && { ...known, removedAt: 0 });
		await this.#tellRemoval({ ...row, removedAt: 0 }, true).catch(asProblem);
	}

	// ---- removals

	/** A removal cannot be undone any more: the platform is told. */
	settle(id: string): Promise<void> {
		this.#settled.add(id);
		return this.tryExchange(id);
	}

	async #tellRemoval(row: SyncRecord, isDue = this.#settled.has(row.id) || Date.now() - (row.removedAt ?? 0) > UNDO_MS): Promise<void> {
		if (!isDue) return;
		if (row.serverId !== null) await deleteConversation(row.serverId).catch(unlessMissing);
		await changeSync(row.id, () => null);
		this.#settled.delete(row.id);
	}

	/** A removed conversation that is brought back: if the platform has it no more, it is kept in the browser. */
	async restored(whole: WholeConversation): Promise<WholeConversation> {
		let isThere = false;
		await changeSync(whole.conversation.id, (row) => {
			isThere = row !== undefined;
			return row && { ...row, removedAt: null };
		});
		if (isThere) return whole;
		const messages = whole.messages.map((message) => ({ ...message, itemIds: [] }));
		return { ...whole, messages, conversation: { ...whole.conversation, place: 'browser', serverId: null, tenant: null } };
	}

	/** Delete all conversations of the chat on the platform. Returns how many could not be deleted. Raises `ApiProblem`. */
	async removeAll(): Promise<number> {
		let failed = 0;
		const { listed } = await new ListReader().read();
		for (const { id } of listed.filter(({ metadata }) => metadata.chat !== undefined)) {
			await deleteConversation(id)
				.catch(unlessMissing)
				.catch(() => (failed += 1));
		}
		return failed;
	}
}

// ---- parts of an exchange

/** The record of a conversation that is on the platform; it is created there if it is not. Raises `ApiProblem`. */
async function created(conversation: Conversation, known: SyncRecord | undefined): Promise<SyncRecord & { serverId: string }> {
	if (known?.serverId != null) return known as SyncRecord & { serverId: string };
	const { id } = conversation;
	const tenant = known?.tenant ?? conversation.tenant ?? platform.tenant ?? '';
	await checkTenant(tenant);
	const facts = factsOf(conversation, known?.isMoving);
	const begun = known ?? newRow(id, tenant);
	await changeSync(id, () => begun);
	// an earlier attempt may have created it, and its answer was lost
	const earlier = known ? (await listConversations(100)).data.find(({ metadata }) => metadata.id === id) : undefined;
	const made = earlier ?? (await createConversation(facts));
	const row = { ...begun, serverId: made.id, here: facts, there: made.metadata };
	await changeSync(id, (latest) => ({ ...(latest ?? begun), serverId: made.id, here: facts, there: made.metadata }));
	const latest = conversations.get(id);
	if (latest?.place === 'server') await conversations.accept({ ...latest, serverId: made.id, tenant });
	return row;
}

function newRow(id: string, tenant: string): SyncRecord {
	const none = { serverId: null, isMoving: false, mark: '', lastItem: null, itemCount: 0, here: {}, there: {} };
	return { id, tenant, ...none, removedItems: [], removedAt: null };
}

/** Show a conversation of the platform here. Returns its id, which is the same on all devices if it is free. */
async function adopt(remote: ServerConversation, tenant: string): Promise<string> {
	const given = remote.metadata.id;
	const isTaken = [...conversations.all()].some(({ id }) => id === given);
	const id = isUuid(given) && !isTaken ? given : newId();
	const base = newConversation({ id, createdAt: remote.created_at * 1_000, changedAt: remote.updated_at * 1_000 });
	const conversation = withFacts(base, remote.metadata, changedIn({}, remote.metadata));
	await changeSync(id, () => ({ ...newRow(id, tenant), serverId: remote.id, here: factsOf(conversation), there: remote.metadata }));
	await conversations.accept({ ...conversation, place: 'server', serverId: remote.id, tenant });
	return id;
}

/** Whether something of this record waits to be told. */
function isUnsettled(row: SyncRecord): boolean {
	const conversation = conversations.get(row.id);
	if (row.removedAt !== null || row.isMoving || row.removedItems.length > 0 || conversation?.place === 'browser') return true;
	return conversation !== undefined && changedIn(row.here, factsOf(conversation)).length > 0;
}

/** Whether a leaf of another device is shown: of a thread that is being read only what continues it. */
async function mayShow({ id, leaf: shown }: Conversation, leaf: string | null): Promise<boolean> {
	const messages = new Map((await conversations.messages(id)).map((message) => [message.id, message]));
	if (leaf === null || !messages.has(leaf)) return false;
	return !runs.watches(id) || shown === null || pathTo(messages, leaf).includes(shown);
}

/** A new conversation that cannot be on the platform is kept in the browser; `isLater`: it moves when that can be reached. */
async function stayHere(conversation: Conversation, isLater: boolean): Promise<void> {
	const { id } = conversation;
	const words = language.text.shell;
	await conversations.accept({ ...conversation, place: 'browser', tenant: null });
	const tenant = conversation.tenant ?? '';
	await changeSync(id, (row) => (isLater ? { ...(row ?? newRow(id, tenant)), isMoving: true } : null));
	notices.show(isLater ? words.keptHereForNow : words.keptHereFull);
}

async function beginMove({ id }: Conversation, tenant: string): Promise<SyncRecord> {
	await clearItems(id); // of an earlier copy there
	const row = { ...newRow(id, tenant), isMoving: true };
	await changeSync(id, () => row);
	return row;
}

async function clearItems(id: string): Promise<void> {
	const held = (await conversations.messages(id)).filter(({ itemIds }) => itemIds.length > 0);
	await conversations.acceptMessages(id, held.map((message) => ({ ...message, itemIds: [] })));
}

// ---- problems

function reasonOf({ code, message, status }: ApiProblem): string {
	const words = language.text.shell;
	if (code === 'conversation_quota_exceeded') return language.text.settings.quotaFull;
	if (code === 'request_too_large' || status === 413) return words.notMovedLarge;
	if (status === 401) return words.signInNeeded;
	return isPassing(status) ? words.notMovedYet : message;
}

/** Whether a repeat may have another end. */
function isPassing(status: number): boolean {
	return status === 0 || status === 401 || status === 429 || status >= 500;
}

function unlessMissing(error: unknown): undefined {
	if (asProblem(error).status !== 404) throw error;
}

/** What the platform refuses for good stays here alone. */
function unlessRefused(error: unknown): undefined {
	if (isPassing(asProblem(error).status)) throw error;
}

/** Raises `ApiProblem` unless the session of this browser is of that tenant: another tab may have changed it. */
async function checkTenant(tenant: string): Promise<void> {
	await session.read();
	if (session.current && tenantOf(session.current) === tenant) return;
	throw new ApiProblem(session.current ? 401 : 0, 'session_ended', language.text.common.unreachable);
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
	const late = new Promise<never>((_, reject) => {
		setTimeout(() => reject(new ApiProblem(0, 'unreachable', language.text.common.unreachable)), ms);
	});
	return Promise.race([work, late]);
}

async function locked(name: string, work: () => Promise<void>): Promise<void> {
	await holdLock(name, new AbortController().signal, work, () => undefined);
}

function lockedOne(id: string, work: () => Promise<void>): Promise<void> {
	return locked(`stoker-sync-${id}`, work);
}

export const sync = new SyncStore();
export type Sync = SyncStore;
