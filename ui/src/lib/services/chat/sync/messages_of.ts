/** Items of a conversation on the platform as messages. They may come from any client of the tenant: each field is checked. */
import type { AnswerMessage, Attachment, Message, ToolCall } from '$lib/chat_types';
import { attachmentOf } from '$lib/services/chat/import_attachments';
import { lineOf, textOf } from '$lib/services/chat/import_fields';
import { newAnswer, newUserMessage } from '$lib/services/chat/new_records';
import { withResponse, type OutputItem, type ResponseObject } from '$lib/services/chat/response';
import { isUuid, messageId } from './item_ids';

/** An item as the platform lists it. */
export interface Item {
	id: string;
	type: string;
	role?: string;
	status?: string;
	parent_id: string | null;
	created_at: number | null;
	content?: unknown;
	call_id?: string;
	name?: string;
	output?: unknown;
	model?: string;
	response_id?: string;
	response_status?: string;
	usage?: ResponseObject['usage'];
	error?: { code?: string; message?: string } | null;
	measurements?: ResponseObject['measurements'];
	metadata?: Record<string, string>;
	continues?: string;
}

export interface ReadMessages {
	/** The messages whose items were read, the first one first, with the ids of their items. */
	messages: Message[];
	attachments: Attachment[];
	/** The message that each item belongs to; null: none above it does. */
	owners: Map<string, string | null>;
}

const OUTPUT = ['reasoning', 'function_call', 'custom_tool_call'];
const RESULTS = ['function_call_output', 'custom_tool_call_output'];
const MAX_TEXT = 16_000_000;

/**
 * The messages of items in the order of their addition.
 *
 * @param known the messages of items that are here already
 * @param calls the tools of calls that are here already, by the calls' ids
 * @param idOf a free id for a message that would have this one; of an answer of another program, also its response
 * @param since the time of the latest message that is there already, in ms: the platform tells whole seconds, and versions of a
 *   message are in the order of their times
 */
export function messagesOf(
	items: readonly Item[],
	conversation: string,
	known: ReadonlyMap<string, string | null>,
	calls: ReadonlyMap<string, string> = new Map(),
	idOf: (id: string, response?: string) => string = (id) => id,
	since = 0
): ReadMessages {
	const owners = new Map(known);
	const messages: Message[] = [];
	const attachments: Attachment[] = [];
	const names = new Map(calls);
	let latest = since;
	const place = (item: Item) => {
		latest = Math.max(latest + 1, (item.created_at ?? 0) * 1_000);
		const parent = item.parent_id === null ? null : (owners.get(item.parent_id) ?? null);
		return { parent, createdAt: latest };
	};
	for (const group of groupsOf(items.filter(({ id }) => !known.has(id)))) {
		const [item] = group as [Item];
		const last = group.at(-1) as Item;
		const itemIds = group.map(({ id }) => id);
		let message: Message | undefined;
		if (isOutput(item)) {
			const given = last.metadata?.message_id;
			const id = isUuid(given) ? idOf(given) : idOf(messageId(item.id), item.response_id);
			message = { ...answerOf(group, conversation, last), ...place(item), id, itemIds };
			const continued = group.map(({ continues }) => continues).find((one) => one !== undefined);
			if (continued !== undefined) message.continues = owners.get(continued) ?? null;
			for (const call of message.calls) names.set(call.id, call.name);
		} else if (RESULTS.includes(item.type)) {
			const callId = textOf(item.call_id, 256);
			const result = { callId, name: names.get(callId) ?? '', output: plainText(item.output), isError: item.status === 'incomplete' };
			message = { role: 'tool', ...result, conversation, ...place(item), id: idOf(messageId(item.id)), itemIds };
		} else if (item.type === 'message' && item.role === 'user') {
			const id = idOf(messageId(item.id));
			const { text, files } = userContent(item.content, id, conversation);
			attachments.push(...files);
			message = { ...newUserMessage(conversation, null, text, files.map((file) => file.id)), ...place(item), id, itemIds };
		}
		if (message) messages.push(message);
		const owner = message?.id ?? place(item).parent;
		for (const id of itemIds) owners.set(id, owner);
	}
	return { messages, attachments, owners };
}

function isOutput(item: Item): boolean {
	return OUTPUT.includes(item.type) || (item.type === 'message' && item.role === 'assistant');
}

/** Items of one answer: each follows the one before it, and the last one has the end. */
function groupsOf(items: readonly Item[]): Item[][] {
	const groups: Item[][] = [];
	const open = new Map<string, Item[]>();
	for (const item of items) {
		const before = item.parent_id === null ? undefined : open.get(item.parent_id);
		const last = before?.at(-1);
		if (before && last && isOutput(item) && last.response_id === item.response_id && last.response_status === undefined) {
			open.delete(last.id);
			before.push(item);
			open.set(item.id, before);
		} else {
			const group = [item];
			groups.push(group);
			if (isOutput(item)) open.set(item.id, group);
		}
	}
	return groups;
}

function answerOf(group: Item[], conversation: string, last: Item): AnswerMessage {
	const metadata = last.metadata ?? {};
	const { usage = null, error = null, measurements = null } = last;
	const begun = newAnswer(conversation, null, textOf(last.model, 256), {
		responseId: last.response_id ?? null,
		isSecond: metadata.is_second === '1',
		reasoningMs: numberOf(metadata.reasoning_ms),
		times: {
			sentAt: (last.created_at ?? 0) * 1_000,
			firstTokenMs: numberOf(metadata.first_token_ms),
			totalMs: numberOf(metadata.total_ms),
			tokensPerSecond: numberOf(metadata.tokens_per_second)
		}
	});
	const status = last.response_status ?? 'completed';
	const answer = withResponse(begun, { status, output: group as OutputItem[], usage, error, measurements });
	const own = status === 'failed' ? { code: error?.code ?? 'failed', message: error?.message ?? '', param: null, retryAfter: null } : null;
	return { ...answer, status: own?.code === 'lost' ? 'lost' : answer.status, error: own };
}

function numberOf(text: string | undefined): number | null {
	const value = Number(text ?? NaN);
	return Number.isFinite(value) && value >= 0 ? value : null;
}

interface Part {
	type?: unknown;
	text?: unknown;
	image_url?: unknown;
	filename?: unknown;
	file_data?: unknown;
}

const DATA = /^data:([a-z]+\/[a-z0-9.+-]+);base64,/;

/** The text and the files of a message. A text that names a PDF before pictures is the name of these pages (`partsOf`). */
function userContent(content: unknown, message: string, conversation: string): { text: string; files: Attachment[] } {
	if (!Array.isArray(content)) return { text: textOf(content, MAX_TEXT), files: [] };
	const texts: string[] = [];
	const files: Attachment[] = [];
	let pdf: Attachment | undefined;
	for (const [at, part] of (content as Part[]).entries()) {
		const next = (content as Part[])[at + 1];
		if (part.type === 'input_image' || part.type === 'input_file') {
			const file = fileOf(part, `${message}-${at}`, conversation);
			if (!file) texts.push(`[${lineOf(part.filename ?? part.image_url, 200)}]`);
			else if (pdf && file.kind === 'image') {
				pdf.pages.push(file.content);
				pdf.bytes += file.bytes;
			} else files.push(file);
			continue;
		}
		const text = textOf(part.text, MAX_TEXT);
		pdf = undefined;
		if (/^[^\n]{1,200}\.pdf$/i.test(text) && next?.type === 'input_image') {
			const none = new Blob([], { type: 'text/plain' });
			const base = { id: `${message}-${at}`, conversation, name: lineOf(text, 255), type: 'application/pdf', kind: 'pdf' as const };
			pdf = { ...base, bytes: 0, content: none, pages: [], text: '', fileId: null };
			files.push(pdf);
		} else texts.push(text);
	}
	return { text: texts.join('\n\n'), files };
}

function fileOf(part: Part, id: string, conversation: string): Attachment | undefined {
	const data = typeof part.image_url === 'string' ? part.image_url : part.file_data;
	const type = typeof data === 'string' ? DATA.exec(data.slice(0, 100)) : null;
	if (typeof data !== 'string' || !type) return undefined;
	const base64 = data.slice(type[0].length);
	if (part.type === 'input_image') return attachmentOf({ kind: 'image', name: '', type: type[1], contentType: type[1], content: base64 }, id, conversation);
	const text = decodedText(base64);
	return text === undefined ? undefined : attachmentOf({ kind: 'text', name: part.filename, content: base64, text }, id, conversation);
}

function decodedText(base64: string): string | undefined {
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0)));
	} catch {
		return undefined;
	}
}

function plainText(output: unknown): string {
	if (typeof output === 'string') return textOf(output, MAX_TEXT);
	if (!Array.isArray(output)) return '';
	return (output as Part[]).map((part) => textOf(part.text, MAX_TEXT)).join('\n');
}

/** The calls of messages, by their ids, with the names of their tools. */
export function callNames(messages: Iterable<Message>): Map<string, string> {
	const calls: ToolCall[] = [...messages].flatMap((message) => (message.role === 'assistant' ? message.calls : []));
	return new Map(calls.map(({ id, name }) => [id, name]));
}
