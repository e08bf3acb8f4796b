import { readResponse } from '$lib/services/chat/answer_calls';
import { newAnswer } from '$lib/services/chat/new_records';
import type { ResponseObject } from '$lib/services/chat/response';
import type { Turn } from '$lib/services/chat/sync/conversation_calls';
import { isUuid, messageId } from '$lib/services/chat/sync/item_ids';
import { readMessage } from '$lib/storage/messages';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { runs } from '$lib/stores/chat/runs.svelte';
import { chatStorage } from '$lib/stores/chat/storage.svelte';
import { showLeaf } from './pull';

/** Show the answers that run for another device, and read them as own ones. Raises `ApiProblem`. */
export async function followTurns(id: string, turns: readonly Turn[]): Promise<void> {
	const messages = await conversations.messages(id);
	const known = new Set(messages.map((message) => (message.role === 'assistant' ? message.responseId : null)));
	for (const turn of turns.filter(({ response_id }) => !known.has(response_id))) {
		const response = (await readResponse(turn.response_id)) as ResponseObject & { model?: string; metadata?: Record<string, string> };
		const { message_id: given, is_second } = response.metadata ?? {};
		const answerId = isUuid(given) ? given : messageId(turn.response_id);
		// one of this browser, which another tab has asked for a moment ago
		if (await chatStorage.read(() => readMessage(answerId), undefined)) continue;
		const parent = messages.find(({ itemIds }) => turn.parent_id !== null && itemIds.includes(turn.parent_id))?.id ?? null;
		const options = { id: answerId, status: 'waiting', responseId: turn.response_id, isSecond: is_second === '1' } as const;
		const answer = newAnswer(id, parent, response.model ?? '', options);
		conversations.add(id, [answer]);
		if (!answer.isSecond && (conversations.get(id)?.leaf ?? null) === parent) await showLeaf(id, answer.id);
		await runs.follow(answer);
	}
}
