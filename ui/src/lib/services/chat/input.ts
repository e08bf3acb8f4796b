import type { AnswerMessage, Attachment, Message, ToolMessage, UserMessage } from '$lib/chat_types';
import { isRunning } from './response';

/** An item of a request's `input`, in the form of the Responses API. */
export type InputItem = Record<string, unknown>;

/** Attachments by their ids: what the storage has of them. */
export type Attachments = ReadonlyMap<string, Attachment>;

/**
 * The items of a request for these messages, the first one first. Answers without text and calls are left out, as are calls
 * without a result; the parts of a continued answer are one message. Reasoning is not sent again.
 */
export async function inputOf(messages: Message[], attachments: Attachments): Promise<InputItem[]> {
	const results = new Set(messages.filter((one) => one.role === 'tool').map((one) => one.callId));
	const items: InputItem[] = [];
	const called = new Set<string>();
	for (const message of messages) {
		if (message.role === 'user') items.push(await userItem(message, attachments));
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

async function userItem(message: UserMessage, attachments: Attachments): Promise<InputItem> {
	const found = message.attachments.map((id) => attachments.get(id)).filter((one) => one !== undefined);
	if (found.length === 0) return { role: 'user', content: message.text };
	const parts = (await Promise.all(found.map(partsOf))).flat();
	if (message.text !== '') parts.push({ type: 'input_text', text: message.text });
	return { role: 'user', content: parts };
}

/**
 * The parts of a message for a file: an image as it is, the pages of a PDF as images (which only models that see get), other
 * documents as their text.
 */
async function partsOf(attachment: Attachment): Promise<InputItem[]> {
	if (attachment.kind === 'image') return [await imagePart(attachment.content)];
	if (attachment.kind === 'audio') {
		const data = (await dataUrl(attachment.content)).replace(/^[^,]*,/, '');
		return [{ type: 'input_audio', input_audio: { data, format: attachment.type.replace(/^audio\/(x-)?/, '') } }];
	}
	if (attachment.pages.length > 0) return Promise.all(attachment.pages.map(imagePart));
	const text = new Blob([attachment.text], { type: 'text/plain' });
	const name = /\.(txt|md|csv|json)$/i.test(attachment.name) ? attachment.name : `${attachment.name}.txt`;
	return [{ type: 'input_file', filename: name, file_data: await dataUrl(text) }];
}

async function imagePart(image: Blob): Promise<InputItem> {
	return { type: 'input_image', image_url: await dataUrl(image) };
}

/** The bytes of a blob as a `data:` address. */
export async function dataUrl(blob: Blob): Promise<string> {
	const bytes = new Uint8Array(await blob.arrayBuffer());
	let binary = '';
	for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
	return `data:${blob.type.split(';')[0] || 'application/octet-stream'};base64,${btoa(binary)}`;
}
