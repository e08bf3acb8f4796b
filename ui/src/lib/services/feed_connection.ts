import { StreamRefused, streamEvents, type StreamEvent } from '$lib/api/stream';

const PATH = '/v1/admin/events';
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;
/** A stream that is silent for so long is dead: the API sends a comment every 15 s. */
const SILENCE_MS = 35_000;
/** The first events come at once. Where none comes for so long, something on the way holds the stream back. */
const FIRST_EVENT_MS = 8_000;
const POLL_MS = 3_000;
/** So often a stream is tried again where it was held back. */
const STREAM_AGAIN_MS = 60_000;

export interface FeedListener {
	/** A connection has begun: it sends the current state first. */
	began(): void;
	received(event: StreamEvent): void;
	/** Something has come, at least a comment: what was received is still true. */
	alive(): void;
	/** The connection is lost, and is tried again. */
	lost(): void;
	/** The id of the last change that was received. */
	after(): string | undefined;
}

/**
 * Follow the feed until `signal` stops it: by a stream, and where streams are held back by asking again and again. Returns
 * when the session may not read the feed.
 */
export async function followFeed(listener: FeedListener, signal: AbortSignal): Promise<void> {
	let wait = FIRST_WAIT_MS;
	let pollUntil = 0;
	while (!signal.aborted) {
		const isPolling = Date.now() < pollUntil;
		let pauseMs = isPolling ? POLL_MS : wait;
		try {
			const outcome = await followOnce(isPolling ? `${PATH}?follow=false` : PATH, listener, signal, () => {
				wait = FIRST_WAIT_MS;
			});
			if (outcome === 'held back' && !isPolling) {
				pollUntil = Date.now() + STREAM_AGAIN_MS;
				continue;
			}
			if (signal.aborted) return;
			if (outcome === 'held back' || !isPolling) listener.lost();
		} catch (error) {
			if (signal.aborted) return;
			if (error instanceof StreamRefused) {
				if (error.status === 401 || error.status === 403) return;
				pauseMs = Math.max(pauseMs, (error.retryAfter ?? 0) * 1_000);
			}
			listener.lost();
			wait = Math.min(wait * 2, LONGEST_WAIT_MS);
		}
		await pause(pauseMs, signal);
	}
}

/** One connection, until it ends, is silent for too long (raises), or is held back. */
async function followOnce(
	path: string,
	listener: FeedListener,
	signal: AbortSignal,
	onOpen: () => void
): Promise<'ended' | 'held back'> {
	const stop = new AbortController();
	const abort = () => stop.abort();
	signal.addEventListener('abort', abort);
	let hasBegun = false;
	let timer = setTimeout(abort, FIRST_EVENT_MS);
	const alive = () => {
		if (!hasBegun) return;
		listener.alive();
		clearTimeout(timer);
		timer = setTimeout(abort, SILENCE_MS);
	};
	try {
		for await (const event of streamEvents(path, listener.after(), stop.signal, onOpen, alive)) {
			if (!hasBegun) {
				hasBegun = true;
				alive();
				listener.began();
			}
			listener.received(event);
		}
		return 'ended';
	} catch (error) {
		if (stop.signal.aborted && !signal.aborted && !hasBegun && navigator.onLine) return 'held back';
		throw error;
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', abort);
	}
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const done = () => {
			clearTimeout(timer);
			removeEventListener('online', done);
			signal.removeEventListener('abort', done);
			resolve();
		};
		const timer = setTimeout(done, milliseconds);
		addEventListener('online', done);
		signal.addEventListener('abort', done);
	});
}
