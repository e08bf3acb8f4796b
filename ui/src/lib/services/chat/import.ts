/**
 * Reads files with conversations: those of `export.ts`, and those of llama-server's page and of Open WebUI. Nothing in a file
 * is trusted: records are made anew of checked fields, all messages get new ids, and nothing of what is here is replaced.
 */
import type { ChatSettings, Conversation } from '$lib/chat_types';
import type { WholeConversation } from '$lib/storage/conversations';
import { FORMAT, VERSION } from './export';
import { attachmentOf } from './import_attachments';
import { boundedJson, choiceOf, fieldsOf, lineOf, listOf, textOf, timeOf, type Fields } from './import_fields';
import { foreignConversations } from './import_foreign';
import { MAX_MESSAGES, treeOf } from './import_messages';

/** Larger files are refused before they are read, in bytes. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_CONVERSATIONS = 10_000;
const MAX_ATTACHMENTS = 2_000;
const MAX_TITLE = 200;
const MAX_STOPS = 16;

export type ImportProblem = 'tooLarge' | 'notJson' | 'unknownFormat' | 'newerVersion' | 'empty';

/** Why a file is refused as a whole. */
export class ImportRefused extends Error {
	constructor(readonly reason: ImportProblem) {
		super(reason);
	}
}

export interface ParsedImport {
	/** The conversations that are new here. */
	added: WholeConversation[];
	/** How many are here already. */
	known: number;
	/** How many have nothing that can be used. */
	unusable: number;
}

export interface ImportContext {
	/** Ids of the conversations that are here, those of the platform (`conv_...`) too. */
	known: ReadonlySet<string>;
	newId: () => string;
	now: number;
}

/** Read a file. Raises `ImportRefused`. */
export async function readImport(file: Blob, context: ImportContext): Promise<ParsedImport> {
	if (file.size > MAX_FILE_BYTES) throw new ImportRefused('tooLarge');
	let content: unknown;
	try {
		content = JSON.parse(await file.text());
	} catch {
		throw new ImportRefused('notJson');
	}
	return parseImport(content, context);
}

/** The conversations of a parsed file. Raises `ImportRefused`. */
export function parseImport(content: unknown, context: ImportContext): ParsedImport {
	const found = conversationsOf(content);
	if (found.length === 0) throw new ImportRefused('empty');
	const result: ParsedImport = { added: [], known: 0, unusable: 0 };
	const ids = new Set(context.known);
	for (const value of found) {
		const fields = fieldsOf(fieldsOf(value)?.conversation) ?? {};
		if (ids.has(String(fields.id)) || (typeof fields.serverId === 'string' && ids.has(fields.serverId))) {
			result.known += 1;
			continue;
		}
		const whole = wholeOf(value, fields, context);
		if (whole) {
			ids.add(whole.conversation.id);
			result.added.push(whole);
		} else result.unusable += 1;
	}
	return result;
}

function conversationsOf(content: unknown): unknown[] {
	const fields = fieldsOf(content);
	if (fields?.format === FORMAT) {
		if (typeof fields.version !== 'number' || fields.version > VERSION) throw new ImportRefused('newerVersion');
		return listOf(fields.conversations, MAX_CONVERSATIONS);
	}
	const foreign = foreignConversations(content, MAX_CONVERSATIONS);
	if (!foreign) throw new ImportRefused('unknownFormat');
	return foreign;
}

const IS_UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function wholeOf(value: unknown, fields: Fields, { newId, now }: ImportContext): WholeConversation | undefined {
	const entry = fieldsOf(value) ?? {};
	// the id is kept, so that the same file can be imported again without a second copy
	const id = typeof fields.id === 'string' && IS_UUID.test(fields.id) ? fields.id : newId();
	const attachmentIds = new Map<string, string>();
	const attachments = listOf(entry.attachments, MAX_ATTACHMENTS).flatMap((one) => {
		const attachment = attachmentOf(one, newId(), id);
		if (attachment) attachmentIds.set(String(fieldsOf(one)?.id), attachment.id);
		return attachment ?? [];
	});
	const { messages, ids } = treeOf(listOf(entry.messages, MAX_MESSAGES), id, attachmentIds, newId, now);
	if (messages.length === 0) return undefined;
	const used = new Set(messages.flatMap(attachmentsOf));
	const leaf = messages.find((message) => message.id === ids.get(String(fields.leaf))) ?? messages.at(-1);
	const folder = lineOf(fields.folder, MAX_TITLE);
	const title = lineOf(fields.title, MAX_TITLE);
	const conversation: Conversation = {
		id,
		title: title || firstLine(messages),
		isTitled: fields.isTitled === true && title !== '',
		folder: folder || null,
		isPinned: fields.isPinned === true,
		createdAt: timeOf(fields.createdAt, now),
		changedAt: timeOf(fields.changedAt, now),
		place: 'browser',
		serverId: null,
		leaf: leaf?.id ?? null,
		settings: settingsOf(fieldsOf(fields.settings) ?? {})
	};
	return { conversation, messages, attachments: attachments.filter((attachment) => used.has(attachment.id)) };
}

function attachmentsOf(message: WholeConversation['messages'][number]): readonly string[] {
	if (message.role === 'user') return message.attachments;
	return message.role === 'assistant' ? (message.media?.attachments ?? []) : [];
}

function firstLine(messages: WholeConversation['messages']): string {
	const first = messages.find((message) => message.role === 'user');
	return lineOf(first?.role === 'user' ? first.text : '', 60) || '…';
}

/** Fields of a request that only change how an answer is sampled: a file may set no others. */
const PARAMETERS = new Set([
	'temperature',
	'top_p',
	'top_k',
	'min_p',
	'seed',
	'max_output_tokens',
	'presence_penalty',
	'frequency_penalty',
	'repetition_penalty',
	'truncation'
]);

/** The settings of a conversation. No tools: they are chosen here, not by a file. */
function settingsOf(fields: Fields): ChatSettings {
	const parameters = Object.entries(fieldsOf(fields.parameters) ?? {}).filter(
		([name, value]) => PARAMETERS.has(name) && (typeof value === 'number' || typeof value === 'string')
	);
	const stop = listOf(fieldsOf(fields.parameters)?.stop, MAX_STOPS).map((one) => textOf(one, 200)).filter(Boolean);
	if (stop.length > 0) parameters.push(['stop', stop]);
	const format = fieldsOf(fields.format);
	const schema = fieldsOf(boundedJson(format?.schema));
	return {
		model: lineOf(fields.model, 256) || null,
		secondModel: lineOf(fields.secondModel, 256) || null,
		instructions: textOf(fields.instructions, 1_000_000),
		parameters: Object.fromEntries(parameters),
		reasoning: choiceOf(fields.reasoning, ['default', 'off', 'low', 'medium', 'high'], 'default'),
		tools: [],
		format: schema ? { name: lineOf(format?.name, 64) || 'answer', schema } : null
	};
}
