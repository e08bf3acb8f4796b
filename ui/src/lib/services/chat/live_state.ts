/** Where a waiting answer stands, as `GET /v1/queue/{id}` says. */
export interface QueuePlace {
	/** 1 is the next; null if it does not wait in a queue any more. */
	position: number | null;
	isEstimate: boolean;
	/** How long it is likely to wait, in ms; null while that is not known. */
	estimateMs: number | null;
	/** Why it waits, for a translation: `slot`, `loading`, `restarting`, ... */
	cause: string | null;
	/** In words of the API, such as `model is loading 41 %`. */
	reason: string | null;
	/** Percent of the model's load, if that is what it waits for and how far it is is known. */
	loadPercent: number | null;
	/** How long the load is likely to take from now on, in ms. */
	loadMs: number | null;
}

/** How much of the prompt the model has read. */
export interface PromptProgress {
	total: number;
	/** Tokens that are known from an earlier request. */
	cached: number;
	/** Tokens that were read, with the cached ones. */
	processed: number;
	elapsedMs: number;
}

/**
 * `connecting`: the request is under way, for the first time or again. `open`: events come. `waiting`: the platform does not
 * answer, and is asked again. `offline`: the browser has no network. `signed-out`: goes on after a sign-in. `elsewhere`:
 * another tab reads it, and tells this one. `unwatched`: only its end is looked for, as enough other answers are read.
 */
export type Connection = 'connecting' | 'open' | 'waiting' | 'offline' | 'signed-out' | 'elsewhere' | 'unwatched';

/** What is known of an answer only while it runs. */
export interface LiveState {
	connection: Connection;
	/** Null before the platform has said it, and once the answer runs. */
	place: QueuePlace | null;
	/** Null if the model does not report it, and once the first token has come. */
	progress: PromptProgress | null;
	/** Pieces of text so far: at least so many tokens. */
	tokens: number;
	/** Null until it can be measured. */
	tokensPerSecond: number | null;
	isStopping: boolean;
	/** Of images and audio: how much of the work is done (ms of a recording, steps of an image); null while not known. */
	work: { done: number; total: number } | null;
	/** The latest unfinished image. */
	preview: Blob | null;
}
