import type { AnswerMessage, Conversation, Message } from '$lib/chat_types';
import { ApiProblem } from '$lib/services/call';
import { isRunning } from '$lib/services/chat/response';
import { readItems, type ServerConversation } from '$lib/services/chat/sync/conversation_calls';
import { callNames, messagesOf, type Item } from '$lib/services/chat/sync/messages_of';
import { newestLeaf, pathTo, type Messages } from '$lib/services/chat/tree';
import { readMessage } from '$lib/storage/messages';
import type { SyncRecord } from '$lib/storage/records';
import { keepAttachment } from '$lib/stores/chat/attachments';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { runs } from '$lib/stores/chat/runs.svelte';
import { chatStorage } from '$lib/stores/chat/storage.svelte';

/** Which items are here. */
export type Pulled = Pick<SyncRecord, 'lastItem' | 'itemCount'>;

/** Take what the platform has and the copy here has not, and remove what is gone there. Raises `ApiProblem`. */
export async function pull(conversation: Conversation, sync: SyncRecord, remote: ServerConversation): Promise<Pulled> {
	const { items, isWhole } = await newItems(sync, remote);
	const local = new Map((await conversations.messages(conversation.id)).map((message) => [message.id, message]));
	if (isWhole) await dropMissing(conversation.id, local, new Set(items.map(({ id }) => id)));
	await take(conversation, local, items);
	return {
		lastItem: items.at(-1)?.id ?? (isWhole ? null : sync.lastItem),
		itemCount: items.length + (isWhole ? 0 : sync.itemCount)
	};
}

/** The items after the last one that is here; all of them if that is not there, or their number does not fit. */
async function newItems(sync: SyncRecord, remote: ServerConversation): Promise<{ items: Item[]; isWhole: boolean }> {
	if (sync.mark !== '' && sync.lastItem !== null && sync.itemCount <= remote.item_count) {
		try {
			const items = await readItems(remote.id, sync.lastItem);
			if (sync.itemCount + items.length === remote.item_count) return { items, isWhole: false };
		} catch (error) {
			if (!(error instanceof ApiProblem) || error.status !== 400) throw error;
		}
	}
	return { items: await readItems(remote.id, null), isWhole: true };
}

/** Remove messages whose items are gone there; what follows them follows the message above. */
async function dropMissing(id: string, local: Map<string, Message>, there: ReadonlySet<string>): Promise<void> {
	const gone = new Set<string>();
	const changed: Message[] = [];
	for (const message of local.values()) {
		const itemIds = message.itemIds.filter((item) => there.has(item));
		if (itemIds.length === message.itemIds.length) continue;
		if (itemIds.length === 0) gone.add(message.id);
		else changed.push({ ...message, itemIds });
	}
	for (const message of local.values()) {
		let { parent } = message;
		while (parent !== null && gone.has(parent)) parent = local.get(parent)?.parent ?? null;
		if (parent !== message.parent && !gone.has(message.id)) changed.push({ ...message, parent });
	}
	await write(id, local, changed);
	if (gone.size > 0) await conversations.dropMessages(id, [...gone]);
	for (const one of gone) local.delete(one);
}

/** Take items as messages, and let the thread go on with what continues it. */
async function take(conversation: Conversation, local: Map<string, Message>, items: Item[]): Promise<void> {
	const { id } = conversation;
	const owners = new Map<string, string | null>();
	const byResponse = new Map<string, string>();
	for (const message of local.values()) {
		for (const item of message.itemIds) owners.set(item, message.id);
		if (message.role === 'assistant' && message.responseId !== null) byResponse.set(message.responseId, message.id);
	}
	const names = callNames(local.values());
	const known = (wanted: string, response?: string) => (response !== undefined && byResponse.get(response)) || wanted;
	const since = Math.max(0, ...[...local.values()].filter(({ itemIds }) => itemIds.length > 0).map(({ createdAt }) => createdAt));
	let read = messagesOf(items, id, owners, names, known, since);
	const taken = await takenIds(id, read.messages);
	if (taken.size > 0) {
		const free = (wanted: string, response?: string) => (taken.has(wanted) ? `${id}-${wanted}` : known(wanted, response));
		read = messagesOf(items, id, owners, names, free, since);
	}
	const fresh = new Set(read.messages.filter((message) => !local.has(message.id)).map((message) => message.id));
	const files = read.attachments.filter((file) => read.messages.some((one) => fresh.has(one.id) && one.role === 'user' && one.attachments.includes(file.id)));
	for (const file of files) await keepAttachment(file);
	await write(id, local, read.messages.map((message) => joined(local.get(message.id), message)));
	await follow(id, local, fresh);
}

/** The ids among those of these messages that messages of other conversations have here. */
async function takenIds(id: string, messages: Message[]): Promise<Set<string>> {
	const found = await chatStorage.read(() => Promise.all(messages.map((message) => readMessage(message.id))), []);
	return new Set(found.flatMap((message) => (message && message.conversation !== id ? [message.id] : [])));
}

/** A message that is here, with what the platform has of it: this browser has seen more of its own answers. */
function joined(here: Message | undefined, there: Message): Message {
	if (!here || here.role !== there.role) return there;
	const { itemIds } = there;
	if (here.role !== 'assistant' || there.role !== 'assistant') return { ...here, itemIds };
	const isBehind = here.status === 'lost' || there.text.length > here.text.length || isRunning(here.status);
	if (!isBehind || runs.get(here.id)) return { ...here, itemIds };
	const { parent, createdAt, times } = here;
	return { ...there, parent, createdAt, times } satisfies AnswerMessage;
}

async function write(id: string, local: Map<string, Message>, messages: Message[]): Promise<void> {
	if (messages.length === 0) return;
	for (const message of messages) local.set(message.id, message);
	await conversations.acceptMessages(id, messages);
}

/** Show the newest of the new messages, if they follow the end of the thread. */
async function follow(id: string, messages: Messages, fresh: ReadonlySet<string>): Promise<void> {
	const leaf = conversations.get(id)?.leaf ?? null;
	const isThere = leaf !== null && messages.has(leaf);
	const newest = newestLeaf(messages, isThere ? leaf : null);
	if (newest === leaf || (isThere && !pathTo(messages, newest).some((one) => fresh.has(one)))) return;
	await showLeaf(id, newest);
}

/** Show the branch that ends there, without telling the platform. */
export async function showLeaf(id: string, leaf: string | null): Promise<void> {
	const conversation = conversations.get(id);
	const tree = conversations.tree(id);
	if (tree) tree.leaf = leaf;
	if (conversation) await conversations.accept({ ...conversation, leaf });
}
