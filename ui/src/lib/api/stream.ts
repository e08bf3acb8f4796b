import { uiHeader } from './activity';
import { API_ROOT } from './client';

/** One server-sent event: its id, if it has one, and its data as JSON. */
export interface StreamEvent {
	id: string | undefined;
	data: unknown;
}

/** Raised when a stream is refused. `retryAfter` is in seconds. */
export class StreamRefused extends Error {
	constructor(
		readonly status: number,
		readonly retryAfter: number | undefined
	) {
		super(`the stream was refused with status ${status}`);
	}
}

/**
 * Split the text of an event stream into events (WHATWG HTML, "Server-sent events"). `push` takes the next piece of the
 * text, which may end anywhere; lines of comments are left out.
 */
export class EventParser {
	#rest = '';

	push(piece: string): StreamEvent[] {
		const blocks = (this.#rest + piece).split('\n\n');
		this.#rest = blocks.pop() ?? '';
		return blocks.map(parseBlock).filter((event) => event !== undefined);
	}
}

function parseBlock(block: string): StreamEvent | undefined {
	let id: string | undefined;
	const data: string[] = [];
	for (const line of block.split('\n')) {
		if (line.startsWith('id:')) id = line.slice(3).trim();
		else if (line.startsWith('data:')) data.push(line.slice(5).trim());
	}
	return data.length === 0 ? undefined : { id, data: JSON.parse(data.join('\n')) as unknown };
}

/**
 * The events of a stream of the API, until it ends or `signal` stops it. `after` is the id of the last event that was
 * received. `onOpen` is called when the API has accepted, `onBytes` for each piece, comments included. Raises `StreamRefused`.
 */
export async function* streamEvents(
	path: string,
	after: string | undefined,
	signal: AbortSignal,
	onOpen: () => void,
	onBytes: () => void = () => undefined
): AsyncGenerator<StreamEvent> {
	const headers: Record<string, string> = { ...uiHeader(), Accept: 'text/event-stream' };
	if (after !== undefined) headers['Last-Event-ID'] = after;
	const answer = await fetch(API_ROOT + path, { headers, signal, credentials: 'same-origin' });
	if (!answer.ok || answer.body === null) {
		const wait = Number(answer.headers.get('Retry-After'));
		throw new StreamRefused(answer.status, Number.isFinite(wait) && wait > 0 ? wait : undefined);
	}
	onOpen();
	const parser = new EventParser();
	const decoder = new TextDecoder();
	const reader = answer.body.getReader();
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		onBytes();
		yield* parser.push(decoder.decode(value, { stream: true }));
	}
}
