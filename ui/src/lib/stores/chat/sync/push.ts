import type { Conversation, Message } from '$lib/chat_types';
import { addItems, type Turn } from '$lib/services/chat/sync/conversation_calls';
import { isWhole, itemsOf, type NewItem } from '$lib/services/chat/sync/items_of';
import { subtree, type Messages } from '$lib/services/chat/tree';
import { attachmentsOf } from '$lib/stores/chat/attachments';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { runs } from '$lib/stores/chat/runs.svelte';

/** Of one call: the platform's bound, and characters that its body certainly takes. */
const BATCH_ITEMS = 20;
const BATCH_CHARACTERS = 2_000_000;

/** The answers that have ended, and whose items are not known here. */
export async function endedAnswers(id: string): Promise<Set<string>> {
	const messages = await conversations.messages(id);
	return new Set(messages.filter((message) => message.role === 'assistant' && isMissing(message) && !runs.get(message.id)).map((message) => message.id));
}

/**
 * Add to the platform what it does not have: all messages of a move (`ended` is null), else these answers, with what they
 * follow. An answer must have ended before the `turns` were read: its items come from the platform itself otherwise. It can be
 * cut and repeated: the same messages are the same items. Raises `ApiProblem`.
 */
export async function push(
	conversation: Conversation,
	serverId: string,
	turns: readonly Turn[],
	ended: ReadonlySet<string> | null
): Promise<void> {
	const messages = new Map((await conversations.messages(conversation.id)).map((message) => [message.id, message]));
	let batch: NewItem[] = [];
	let characters = 0;
	let done: Message[] = [];
	const send = async () => {
		if (batch.length > 0) await addItems(serverId, batch);
		await conversations.acceptMessages(conversation.id, done);
		[batch, characters, done] = [[], 0, []];
	};
	for (const message of missing(messages, turns, ended)) {
		const files = message.role === 'user' ? await attachmentsOf(message.attachments) : [];
		const continued = message.role === 'assistant' && message.continues !== null ? messages.get(message.continues) : undefined;
		const items = await itemsOf(message, parentItem(messages, message.parent), files, continued?.itemIds.find((item) => item.startsWith('msg_')) ?? null);
		for (const item of items) {
			const size = JSON.stringify(item).length;
			if (batch.length === BATCH_ITEMS || (batch.length > 0 && characters + size > BATCH_CHARACTERS)) await send();
			batch.push(item);
			characters += size;
		}
		const held = { ...message, itemIds: items.map(({ id }) => id) };
		messages.set(message.id, held);
		done.push(held);
	}
	if (done.length > 0) await send();
}

function isMissing(message: Message): boolean {
	return message.itemIds.length === 0 && isWhole(message);
}

/** The messages that the platform has to get, each after the one that it follows. */
function missing(messages: Messages, turns: readonly Turn[], ended: ReadonlySet<string> | null): Message[] {
	const running = new Set(turns.map(({ response_id }) => response_id));
	const wanted = new Set<string>();
	for (const message of messages.values()) {
		if (!isMissing(message)) continue;
		// what an open turn has made comes from the platform itself
		const isOwn = message.role === 'assistant' && ended?.has(message.id) && !running.has(message.responseId ?? '');
		if (ended !== null && !isOwn) continue;
		for (let at: Message | undefined = message; at && !wanted.has(at.id); at = at.parent === null ? undefined : messages.get(at.parent)) {
			if (isMissing(at)) wanted.add(at.id);
		}
	}
	const roots = [...messages.values()].filter(({ parent }) => parent === null || !messages.has(parent));
	const order = roots.sort((a, b) => a.createdAt - b.createdAt).flatMap(({ id }) => subtree(messages, id));
	return order.filter((id) => wanted.has(id)).map((id) => messages.get(id) as Message);
}

/** The last item of the nearest message above that the platform has, `from` itself included. */
function parentItem(messages: Messages, from: string | null): string | null {
	for (let at = from === null ? undefined : messages.get(from); at; at = at.parent === null ? undefined : messages.get(at.parent)) {
		const item = at.itemIds.at(-1);
		if (item !== undefined) return item;
	}
	return null;
}
