/** Records of the database that only the browser needs. */

/** What was typed and not sent. `id` is that of the conversation, or `new`. */
export interface Draft {
	id: string;
	text: string;
	/** Ids of attachments. */
	attachments: string[];
	changedAt: number;
}

/** How far an answer that has not ended was read. It is written with the message, in one transaction. */
export interface StreamRecord {
	/** The id of the message. */
	id: string;
	conversation: string;
	/** The body of the request, until its first event has come: a repeat has to have the same bytes. */
	body: string | null;
	/** How many bytes of the stream the message has, comments left out. */
	offset: number;
	/** The `sequence_number` of the last event; -1 before the first. */
	sequence: number;
	/** When its reasoning began; null if it did not. */
	reasonsSince: number | null;
	/** A person has stopped it, and the platform may not know yet. */
	isStopped: boolean;
	/** Another device has asked for it: its calls of tools are not made here. */
	isForeign?: boolean;
	/** Of images or audio: `body` is a `MediaRequest`, which is repeated until its end has come. */
	isMedia?: boolean;
}

/** What is known of a conversation that is kept on the platform, or on its way there: how far the copy here is. */
export interface SyncRecord {
	/** The id of the conversation. */
	id: string;
	serverId: string | null;
	/** The tenant that it belongs to: another one's list says nothing about it. */
	tenant: string;
	/** It is being moved to the platform: its place is the browser until all of it is there. */
	isMoving: boolean;
	/** The state of the platform's conversation that is here; empty: nothing is. */
	mark: string;
	/** The last item that is here; null if there is none. */
	lastItem: string | null;
	itemCount: number;
	/** Title, folder, ... as they were here and there after the last exchange. */
	here: Record<string, string>;
	there: Record<string, string>;
	/** Items that were removed here, and that the platform has to remove. */
	removedItems: string[];
	/** When it was removed here (ms): the platform has to be told. Null: it was not. */
	removedAt: number | null;
}
