/** The records of the chat, as they are kept in the browser (`$lib/storage`) and shown by the pages. Times are in ms since 1970. */

/** Where a conversation is kept: in this browser alone, or on the platform, where each browser of its tenant finds it. */
export type Place = 'browser' | 'server';

export interface Conversation {
	/** Made by the browser: a UUID. */
	id: string;
	title: string;
	/** Whether a person has chosen the title: it does not follow the first message any more. */
	isTitled: boolean;
	folder: string | null;
	isPinned: boolean;
	createdAt: number;
	changedAt: number;
	place: Place;
	/** `conv_...`, of a conversation that is kept on the platform. */
	serverId: string | null;
	/** Whose it is, of one on the platform: another tenant's session does not show it. Empty on a platform without keys. */
	tenant?: string | null;
	/** The last message of the branch that is shown. */
	leaf: string | null;
	settings: ChatSettings;
}

/** What a request of a conversation asks for, besides its messages. Presets keep the same. */
export interface ChatSettings {
	model: string | null;
	/** The model beside it, which answers the same messages. */
	secondModel: string | null;
	instructions: string;
	/** Fields of the request (`temperature`, `top_p`, ...): only those that differ from the server's defaults. */
	parameters: Record<string, unknown>;
	reasoning: 'default' | 'off' | 'low' | 'medium' | 'high';
	/** Names of the tools that the model may call. */
	tools: string[];
	format: AnswerFormat | null;
}

/** The JSON schema that answers have to follow. */
export interface AnswerFormat {
	name: string;
	schema: Record<string, unknown>;
}

export interface Preset {
	id: string;
	name: string;
	/** The model that the preset belongs to; null for all. */
	model: string | null;
	settings: ChatSettings;
}

interface MessageBase {
	/** Made by the browser: a UUID. Of an answer, it is also its `X-Conversation-Id` and its `Idempotency-Key`. */
	id: string;
	conversation: string;
	/** The message before it; null for the first. Messages with the same parent are the branches there. */
	parent: string | null;
	createdAt: number;
	/** The items of a conversation on the platform that hold it. */
	itemIds: string[];
}

export interface UserMessage extends MessageBase {
	role: 'user';
	text: string;
	/** Ids of attachments. */
	attachments: string[];
}

/**
 * `sending`: no event has come yet. `waiting`: in the queue, or its model is loading. `running`: tokens come. The others
 * are final: `done`, `stopped` (by a person), `cut` (at the limit of tokens), `failed`, `lost` (the platform keeps it no
 * more). All but `sending` and `waiting` may have text.
 */
export type AnswerStatus = 'sending' | 'waiting' | 'running' | 'done' | 'stopped' | 'cut' | 'failed' | 'lost';

export interface AnswerMessage extends MessageBase {
	role: 'assistant';
	model: string;
	status: AnswerStatus;
	text: string;
	reasoning: string;
	/** How long it reasoned; null while it does, or if it did not. */
	reasoningMs: number | null;
	calls: ToolCall[];
	/** `resp_...`, as soon as it is known. */
	responseId: string | null;
	usage: AnswerUsage | null;
	times: AnswerTimes;
	error: AnswerError | null;
	/** Where the answer continues one that was cut: that message. Its text is shown before this one's. */
	continues: string | null;
	/** Whether the answer belongs to the second model of a comparison. */
	isSecond: boolean;
	/** Of a model of images or audio: what it was asked for, and what it has made. */
	media?: AnswerMedia;
}

/** What a model of images or audio does: make images, write down recordings, speak texts. */
export type MediaTask = 'image' | 'transcription' | 'speech';

export interface AnswerMedia {
	task: MediaTask;
	/** Ids of attachments: images or recordings that the model has made. */
	attachments: string[];
	/** Of images; null: the model chooses. */
	seed: number | null;
	/** `1024x1024`, of images that are made; null: not known. */
	size: string | null;
	/** The browser had no room for them: they are in this tab's memory only. */
	isUnstored?: boolean;
}

export interface ToolMessage extends MessageBase {
	role: 'tool';
	callId: string;
	name: string;
	output: string;
	isError: boolean;
}

export type Message = UserMessage | AnswerMessage | ToolMessage;

export interface ToolCall {
	id: string;
	name: string;
	/** A JSON text, which may be incomplete while it is written. */
	arguments: string;
}

export interface AnswerUsage {
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	reasoningTokens: number;
}

/** Null is what is not known yet. */
export interface AnswerTimes {
	sentAt: number;
	firstTokenMs: number | null;
	totalMs: number | null;
	tokensPerSecond: number | null;
}

export interface AnswerError {
	code: string;
	message: string;
	/** The field that the API names. */
	param: string | null;
	/** Seconds after which a repeat may work; null if it will not. */
	retryAfter: number | null;
}

/** A file of a message. Its bytes are in a table of their own. */
export interface Attachment {
	id: string;
	conversation: string;
	name: string;
	/** The media type. */
	type: string;
	kind: 'image' | 'audio' | 'text' | 'pdf';
	bytes: number;
	/** The content as it is sent: shrunk images, the text of documents. */
	content: Blob;
	/** Of a PDF: its pages as pictures, for models that see. */
	pages: Blob[];
	/** The text of a document; empty otherwise. */
	text: string;
	/** `file-...`, of one that is kept on the platform. */
	fileId: string | null;
}
