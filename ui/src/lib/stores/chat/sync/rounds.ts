import { newConversation, newId } from '$lib/services/chat/new_records';
import { markOf, type ServerConversation } from '$lib/services/chat/sync/conversation_calls';
import { changedIn, factsOf, isOfChat, withFacts } from '$lib/services/chat/sync/facts';
import { isUuid } from '$lib/services/chat/sync/item_ids';
import type { SyncRecord } from '$lib/storage/records';
import { changeSync, readSyncs } from '$lib/storage/sync';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { platform } from '$lib/stores/chat/platform.svelte';
import { runs } from '$lib/stores/chat/runs.svelte';
import { chatStorage } from '$lib/stores/chat/storage.svelte';
import { tryExchange } from './exchange';
import { ListReader } from './list';
import { checkTenant, locked, newRecord } from './record';

/** So many conversations of a list are copied at once; the others when they are opened. */
const COPIED = 100;

/** Looks again and again at the list of the platform, and exchanges what has changed there or here. */
class Rounds {
	#list = new ListReader();
	#tenant: string | null = null;
	#hadCopies = false;
	#running: Promise<void> | undefined;

	/** Raises `ApiProblem`. */
	next(): Promise<void> {
		this.#running ??= this.#run().finally(() => (this.#running = undefined));
		return this.#running;
	}

	async #run(): Promise<void> {
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
		await locked(null, async () => {
			const records = (await chatStorage.read(readSyncs, [])).filter((record) => record.tenant === tenant);
			const known = new Set(records.map(({ serverId }) => serverId));
			const fresh = own.filter(({ id }) => !known.has(id));
			// another tab may have signed in as another tenant: then the list is not of this one
			if (fresh.length > 0) await checkTenant(tenant);
			for (const [at, remote] of fresh.entries()) {
				const id = await adopt(remote, tenant);
				if (at < COPIED) due.push({ id, remote });
			}
			for (const record of records) {
				const { id, serverId, mark } = record;
				const remote = own.find((one) => one.id === serverId);
				const isNew = remote && (mark === '' ? runs.watches(id) || COPIED > due.length : markOf(remote) !== mark);
				const isFollowed = remote && remote.turns.length > 0 && runs.watches(id);
				if (isNew || isFollowed) due.push({ id, remote });
				else if (isUnsettled(record)) due.push({ id });
				else if (isWhole && !remote && before.has(serverId)) gone.push(id);
			}
			if (gone.length === 0) return;
			await checkTenant(tenant);
			await conversations.drop(gone);
		});
		for (const { id, remote } of due) await tryExchange(id, remote);
	}
}

/** Show a conversation of the platform here. Returns its id, which is the same on all devices if it is free. */
async function adopt(remote: ServerConversation, tenant: string): Promise<string> {
	const given = remote.metadata.id;
	const isTaken = [...conversations.all()].some(({ id }) => id === given);
	const id = isUuid(given) && !isTaken ? given : newId();
	const base = newConversation({ id, createdAt: remote.created_at * 1_000, changedAt: remote.updated_at * 1_000 });
	const conversation = withFacts(base, remote.metadata, changedIn({}, remote.metadata));
	await changeSync(id, () => ({ ...newRecord(id, tenant), serverId: remote.id, here: factsOf(conversation), there: remote.metadata }));
	await conversations.accept({ ...conversation, place: 'server', serverId: remote.id, tenant });
	return id;
}

/** Whether the platform does not have all of this record yet. */
function isUnsettled(record: SyncRecord): boolean {
	const conversation = conversations.get(record.id);
	if (record.removedAt !== null || record.isMoving || record.removedItems.length > 0 || conversation?.place === 'browser') return true;
	return conversation !== undefined && changedIn(record.here, factsOf(conversation)).length > 0;
}

export const rounds = new Rounds();
