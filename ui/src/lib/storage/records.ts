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
}

/** What is known of a conversation that is kept on the platform: how far the copy here is. */
export interface SyncRecord {
	/** The id of the conversation. */
	id: string;
	serverId: string;
	/** The tenant that it belongs to: another one's list says nothing about it. */
	tenant: string;
	/** The platform's time of the last change that is here, in s since 1970. */
	updatedAt: number;
	/** The last item that is here; null if there is none. */
	lastItem: string | null;
	/** Title, folder, pin, leaf or settings were changed here, and the platform does not know yet. */
	isChanged: boolean;
	/** It was removed here, and the platform has to be told. */
	isRemoved: boolean;
}
