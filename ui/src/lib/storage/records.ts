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
