import type { AnswerMessage, Attachment, Message, ToolMessage, UserMessage } from '$lib/chat_types';
import { partsOf, withinLimits, type InputPart } from '$lib/services/attachments/parts';
import { isRunning } from './response';

/** An item of a request's `input`, in the form of the Responses API. */
export type InputItem = Record<string, unknown>;

/** Attachments by their ids: what the storage has of them. */
export type Attachments = ReadonlyMap<string, Attachment>;

/** For a model of which nothing is known: the platform refuses what it does not take. */
const EVERYTHING = ['text', 'image', 'audio'];

/**
 * The items of a request for these messages, the first one first. Answers without text and calls are left out, as are calls
 * without a result; the parts of a continued answer are one message. Reasoning is not sent again. Attachments that the model
 * does not take (`modalities`), or that the request has no room for, are lines that name them.
 */
export async function inputOf(
	messages: Message[],
	attachments: Attachments,
	modalities: readonly string[] = EVERYTHING
): Promise<InputItem[]> {
	const results = new Set(messages.filter((one) => one.role === 'tool').map((one) => one.callId));
	const items: InputItem[] = [];
	const called = new Set<string>();
	for (const message of messages) {
		if (message.role === 'user') items.push(await userItem(message, attachments, modalities));
		else if (message.role === 'tool') {
			if (called.has(message.callId)) items.push(resultItem(message));
		} else {
			addAnswer(items, message);
			for (const call of message.calls.filter((one) => results.has(one.id))) {
				called.add(call.id);
				items.push({ type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments || '{}' });
			}
		}
	}
	const withFiles = items.filter((item) => Array.isArray(item.content));
	const fitted = withinLimits(withFiles.map((item) => item.content as InputPart[]));
	for (const [at, item] of withFiles.entries()) item.content = fitted[at];
	return items;
}

function addAnswer(items: InputItem[], answer: AnswerMessage): void {
	if (answer.text === '' || isRunning(answer.status)) return;
	const last = items.at(-1);
	if (answer.continues !== null && last?.role === 'assistant') {
		last.content = `${String(last.content)}${answer.text}`;
		return;
	}
	items.push({ role: 'assistant', content: answer.text });
}

function resultItem(message: ToolMessage): InputItem {
	return { type: 'function_call_output', call_id: message.callId, output: message.output };
}

async function userItem(message: UserMessage, attachments: Attachments, modalities: readonly string[]): Promise<InputItem> {
	const found = message.attachments.map((id) => attachments.get(id)).filter((one) => one !== undefined);
	const content = found.length === 0 ? message.text : await partsOf(message.text, found, modalities);
	return { role: 'user', content };
}
