/** Messages of imported files: a tree with new ids, whatever the file says. */
import type { AnswerMedia, AnswerMessage, Message, ToolCall } from '$lib/chat_types';
import { countOf, fieldsOf, lineOf, listOf, textOf, timeOf, type Fields } from './import_fields';

/** A conversation may have so many messages. */
export const MAX_MESSAGES = 20_000;
const MAX_TEXT = 16_000_000;
const MAX_CALLS = 256;
const MAX_ATTACHMENTS = 64;

const STATUSES = ['done', 'stopped', 'cut', 'failed', 'lost'] as const;

const TASKS = ['image', 'transcription', 'speech'] as const;

export interface ImportedTree {
	messages: Message[];
	/** New ids by those of the file. */
	ids: Map<string, string>;
}

/**
 * @param values the messages of the file, in any order
 * @param attachments new ids of attachments by those of the file
 */
export function treeOf(
	values: readonly unknown[],
	conversation: string,
	attachments: ReadonlyMap<string, string>,
	newId: () => string,
	now: number
): ImportedTree {
	const found = new Map<string, Fields>();
	for (const value of values) {
		const fields = fieldsOf(value);
		if (!fields || typeof fields.id !== 'string' || fields.id.length > 256 || found.has(fields.id)) continue;
		if (['user', 'assistant', 'tool'].includes(String(fields.role))) found.set(fields.id, fields);
	}
	const ids = new Map([...found.keys()].map((id) => [id, newId()]));
	const messages: Message[] = [];
	for (const id of inOrder(found)) {
		const fields = found.get(id) ?? {};
		const base = {
			id: ids.get(id) ?? newId(),
			conversation,
			parent: ids.get(String(fields.parent)) ?? null,
			createdAt: timeOf(fields.createdAt, now),
			itemIds: []
		};
		if (fields.role === 'user') {
			const own = listOf(fields.attachments, MAX_ATTACHMENTS).flatMap((one) => attachments.get(String(one)) ?? []);
			messages.push({ ...base, role: 'user', text: textOf(fields.text, MAX_TEXT), attachments: own });
		} else if (fields.role === 'tool') {
			messages.push({
				...base,
				role: 'tool',
				callId: lineOf(fields.callId, 256),
				name: lineOf(fields.name, 256),
				output: textOf(fields.output, MAX_TEXT),
				isError: fields.isError === true
			});
		} else messages.push(answerOf(fields, base, ids, attachments));
	}
	return { messages, ids };
}

/**
 * The ids, parents before children. What is on a circle, or after one, is left out; a message whose parent is not there
 * becomes a first one.
 */
function inOrder(found: ReadonlyMap<string, Fields>): string[] {
	const children = new Map<string, string[]>();
	const order: string[] = [];
	for (const [id, { parent }] of found) {
		const siblings = typeof parent === 'string' ? children.get(parent) : undefined;
		if (typeof parent !== 'string' || !found.has(parent)) order.push(id);
		else if (siblings) siblings.push(id);
		else children.set(parent, [id]);
	}
	// the list grows while it is read
	for (const id of order) for (const child of children.get(id) ?? []) order.push(child);
	return order;
}

type Base = Pick<Message, 'id' | 'conversation' | 'parent' | 'createdAt' | 'itemIds'>;

function answerOf(fields: Fields, base: Base, ids: ReadonlyMap<string, string>, attachments: ReadonlyMap<string, string>): AnswerMessage {
	const media = mediaOf(fields.media, attachments);
	const usage = fieldsOf(fields.usage);
	const times = fieldsOf(fields.times);
	const error = fieldsOf(fields.error);
	return {
		...base,
		role: 'assistant',
		model: lineOf(fields.model, 256),
		// one that ran when the file was made does not run here
		status: STATUSES.find((status) => status === fields.status) ?? 'stopped',
		text: textOf(fields.text, MAX_TEXT),
		reasoning: textOf(fields.reasoning, MAX_TEXT),
		reasoningMs: countOf(fields.reasoningMs),
		calls: listOf(fields.calls, MAX_CALLS).flatMap(callOf),
		responseId: null,
		usage: usage
			? {
					inputTokens: countOf(usage.inputTokens) ?? 0,
					cachedTokens: countOf(usage.cachedTokens) ?? 0,
					outputTokens: countOf(usage.outputTokens) ?? 0,
					reasoningTokens: countOf(usage.reasoningTokens) ?? 0
				}
			: null,
		times: {
			sentAt: countOf(times?.sentAt) ?? base.createdAt,
			firstTokenMs: countOf(times?.firstTokenMs),
			totalMs: countOf(times?.totalMs),
			tokensPerSecond: countOf(times?.tokensPerSecond)
		},
		error: error
			? {
					code: lineOf(error.code, 100),
					message: textOf(error.message, 10_000),
					param: typeof error.param === 'string' ? lineOf(error.param, 200) : null,
					retryAfter: countOf(error.retryAfter)
				}
			: null,
		continues: ids.get(String(fields.continues)) ?? null,
		isSecond: fields.isSecond === true,
		...(media && { media })
	};
}

function mediaOf(value: unknown, attachments: ReadonlyMap<string, string>): AnswerMedia | undefined {
	const fields = fieldsOf(value);
	const task = TASKS.find((one) => one === fields?.task);
	if (!fields || !task) return undefined;
	return {
		task,
		attachments: listOf(fields.attachments, MAX_ATTACHMENTS).flatMap((one) => attachments.get(String(one)) ?? []),
		seed: countOf(fields.seed),
		size: lineOf(fields.size, 32) || null
	};
}

function callOf(value: unknown): ToolCall[] {
	const fields = fieldsOf(value);
	if (!fields) return [];
	return [
		{ id: lineOf(fields.id, 256), name: lineOf(fields.name, 256), arguments: textOf(fields.arguments, MAX_TEXT) }
	];
}
