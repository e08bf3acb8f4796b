import type { AnswerMessage, ChatSettings, Conversation, ToolMessage, UserMessage } from '$lib/chat_types';

/** A new id: the browser makes them. `crypto.randomUUID` exists on https and loopback only. */
export function newId(): string {
	if ('randomUUID' in crypto) return crypto.randomUUID();
	const bytes = [...(crypto as Crypto).getRandomValues(new Uint8Array(16))];
	const hex = bytes.map((byte, at) => (at === 6 ? (byte & 15) | 64 : at === 8 ? (byte & 63) | 128 : byte))
		.map((byte) => byte.toString(16).padStart(2, '0'))
		.join('');
	return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function newSettings(): ChatSettings {
	return {
		model: null,
		secondModel: null,
		instructions: '',
		parameters: {},
		reasoning: 'default',
		tools: [],
		format: null
	};
}

export function newConversation(given: Partial<Conversation> = {}): Conversation {
	const now = Date.now();
	return {
		id: newId(),
		title: '',
		folder: null,
		isTitled: false,
		isPinned: false,
		createdAt: now,
		changedAt: now,
		place: 'browser',
		serverId: null,
		leaf: null,
		settings: newSettings(),
		...given
	};
}

export function newUserMessage(
	conversation: string,
	parent: string | null,
	text: string,
	attachments: string[]
): UserMessage {
	return { ...base(conversation, parent), role: 'user', text, attachments };
}

export function newAnswer(
	conversation: string,
	parent: string | null,
	model: string,
	given: Partial<AnswerMessage> = {}
): AnswerMessage {
	return {
		...base(conversation, parent),
		role: 'assistant',
		model,
		status: 'sending',
		text: '',
		reasoning: '',
		reasoningMs: null,
		calls: [],
		responseId: null,
		usage: null,
		times: { sentAt: Date.now(), firstTokenMs: null, totalMs: null, tokensPerSecond: null },
		error: null,
		continues: null,
		isSecond: false,
		...given
	};
}

/** What a tool gave for a call. */
export interface ToolResult {
	callId: string;
	name: string;
	output: string;
	isError: boolean;
}

export function newToolMessage(conversation: string, parent: string, result: ToolResult): ToolMessage {
	return { ...base(conversation, parent), role: 'tool', ...result };
}

let latest = 0;

/** Times grow with each message, so that branches have an order. */
function base(conversation: string, parent: string | null) {
	latest = Math.max(Date.now(), latest + 1);
	return { id: newId(), conversation, parent, createdAt: latest, itemIds: [] as string[] };
}
