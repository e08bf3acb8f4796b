/** Messages as items of a conversation on the platform. The same message always gives the same items, byte by byte. */
import type { AnswerMessage, Attachment, Message } from '$lib/chat_types';
import { leftOut, partsOf } from '$lib/services/attachments/parts';
import { textOf } from '$lib/services/chat/import_fields';
import { isRunning } from '$lib/services/chat/response';
import { itemId } from './item_ids';

/** An item of `POST /v1/conversations/{id}/items`. */
export type NewItem = Record<string, unknown> & { id: string };

/** What the platform keeps of attachments: pictures and documents. */
export const KEPT = ['text', 'image'] as const;

const ENDS: Record<string, string> = {
	done: 'completed',
	cut: 'incomplete',
	stopped: 'cancelled',
	failed: 'failed',
	lost: 'failed'
};

/** Whether the platform can hold a message: an answer that has ended, and is not empty. */
export function isWhole(message: Message): boolean {
	if (message.role !== 'assistant') return true;
	if (isRunning(message.status)) return false;
	return message.text !== '' || message.reasoning !== '' || message.calls.length > 0;
}

/** The items of a question or a result, as the input of a request has them. */
export async function inputItem(message: Exclude<Message, AnswerMessage>, files: readonly Attachment[], takes: readonly string[] = KEPT): Promise<NewItem> {
	if (message.role === 'tool') {
		const status = message.isError && { status: 'incomplete' };
		return { id: itemId('fco', message.id), type: 'function_call_output', call_id: message.callId, output: message.output, ...status };
	}
	const found = message.attachments.map((id) => files.find((file) => file.id === id)).filter((file) => file !== undefined);
	const content = found.length === 0 ? message.text : (await partsOf(message.text, found, takes)).map((part) => (part.type === 'input_audio' ? leftOut('audio') : part));
	return { id: itemId('msg', message.id), type: 'message', role: 'user', content };
}

/** The items of a message that follow the item `parent`, with all that is known of it. `continued`: the item that it continues. */
export async function itemsOf(
	message: Message,
	parent: string | null,
	files: readonly Attachment[],
	continued: string | null = null
): Promise<NewItem[]> {
	const created_at = Math.floor(message.createdAt / 1_000);
	if (message.role !== 'assistant') return [{ ...(await inputItem(message, files)), parent_id: parent, created_at }];
	const items: NewItem[] = [];
	if (message.reasoning !== '') {
		const content = [{ type: 'reasoning_text', text: message.reasoning }];
		items.push({ id: itemId('rs', message.id), type: 'reasoning', summary: [], content });
	}
	if (message.text !== '' || message.calls.length === 0) {
		const content = [{ type: 'output_text', text: message.text }];
		const continues = continued !== null && { continues: continued };
		items.push({ id: itemId('msg', message.id), type: 'message', role: 'assistant', content, ...continues });
	}
	for (const [at, { id, name, arguments: given }] of message.calls.entries()) {
		items.push({ id: itemId('fc', message.id, at), type: 'function_call', call_id: id, name, arguments: given || '{}' });
	}
	return items.map((item, at) => ({
		...item,
		parent_id: at === 0 ? parent : (items[at - 1] as NewItem).id,
		created_at,
		model: textOf(message.model, 256),
		...(message.responseId !== null && { response_id: message.responseId }),
		...(at === items.length - 1 && endOf(message))
	}));
}

function endOf(message: AnswerMessage): Record<string, unknown> {
	const { usage, error } = message;
	return {
		status: message.status === 'done' ? 'completed' : 'incomplete',
		response_status: ENDS[message.status],
		metadata: answerMetadata(message),
		...(usage && {
			usage: {
				input_tokens: usage.inputTokens,
				output_tokens: usage.outputTokens,
				input_tokens_details: { cached_tokens: usage.cachedTokens },
				output_tokens_details: { reasoning_tokens: usage.reasoningTokens }
			}
		}),
		...(error && { error: { code: textOf(error.code, 64), message: textOf(error.message, 4_096) } })
	};
}

/** The metadata of an answer's request, and of its last item. */
export function answerMetadata({ id, isSecond, reasoningMs, times }: AnswerMessage): Record<string, string> {
	const numbers = { reasoning_ms: reasoningMs, first_token_ms: times.firstTokenMs, total_ms: times.totalMs, tokens_per_second: times.tokensPerSecond };
	const known = Object.entries(numbers).filter(([, value]) => value !== null);
	return {
		message_id: id,
		...(isSecond && { is_second: '1' }),
		...Object.fromEntries(known.map(([name, value]) => [name, String(value)]))
	};
}
