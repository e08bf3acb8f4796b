import { language } from '$lib/chat_text/language.svelte';
import type { AnswerError, AnswerMessage, Attachment, Conversation, Message } from '$lib/chat_types';
import { ApiProblem, asProblem } from '$lib/services/call';
import type { RequestParts } from '$lib/services/chat/request';
import { answerMetadata, inputItem, isWhole } from '$lib/services/chat/sync/items_of';
import { changeSync, readSync } from '$lib/storage/sync';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { notices } from '$lib/stores/chat/notices.svelte';
import { exchange } from './exchange';
import { isPassing, locked, newRecord, placed } from './record';

/** A first message waits so long for its conversation on the platform. */
const CREATE_MS = 4_000;

/**
 * Let a conversation be ready for a request that follows `parent`: it is on the platform, and so are the answers before. A new
 * one that cannot be there begins in the browser. Returns why the request cannot be sent; null if it can.
 */
export async function prepare(id: string, parent: string | null): Promise<AnswerError | null> {
	const conversation = conversations.get(id);
	if (conversation?.place !== 'server') return null;
	try {
		if (conversation.serverId === null) {
			await within(CREATE_MS, locked(id, async () => void (await placed(conversation, await readSync(id)))));
		} else if (conversations.tree(id)?.history(parent).some((message) => message.role === 'assistant' && isWhole(message) && message.itemIds.length === 0)) {
			await exchange(id);
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
export async function input(
	id: string,
	history: readonly Message[],
	files: readonly Attachment[],
	answer: AnswerMessage | null
): Promise<Pick<RequestParts, 'input' | 'place' | 'metadata'>> {
	const at = history.findLastIndex(({ itemIds }) => itemIds.length > 0);
	const items = history.slice(at + 1).map((message) => (message.role === 'assistant' ? null : inputItem(message, files)));
	return {
		place: { id: conversations.get(id)?.serverId ?? '', parent: history[at]?.itemIds.at(-1) ?? null, attachments: 'auto' },
		input: (await Promise.all(items)).filter((item) => item !== null),
		...(answer && { metadata: answerMetadata(answer) })
	};
}

/** A new conversation that cannot be on the platform is kept in the browser; `isLater`: it moves when that can be reached. */
async function stayHere(conversation: Conversation, isLater: boolean): Promise<void> {
	const { id } = conversation;
	const words = language.text.shell;
	await conversations.accept({ ...conversation, place: 'browser', tenant: null });
	const tenant = conversation.tenant ?? '';
	await changeSync(id, (record) => (isLater ? { ...(record ?? newRecord(id, tenant)), isMoving: true } : null));
	notices.show(isLater ? words.keptHereForNow : words.keptHereFull);
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
	const late = new Promise<never>((_, reject) => {
		setTimeout(() => reject(new ApiProblem(0, 'unreachable', language.text.common.unreachable)), ms);
	});
	return Promise.race([work, late]);
}
