/** An event of an answer's stream: its data, and how many bytes the stream has up to its end. */
export interface CountedEvent {
	data: Record<string, unknown>;
	offset: number;
}

const NEWLINE = 10;
const COLON = 58;

/**
 * Splits the bytes of an answer's stream into events, and counts them as `GET /v1/stream/{id}?from=` does: comments, which
 * keep a silent connection alive, are no part of the offsets. An event that was cut is not counted: the next reader begins
 * before it.
 */
export class ByteEvents {
	#rest: Uint8Array = new Uint8Array(0);
	#decoder = new TextDecoder();

	constructor(public offset = 0) {}

	/** The events that end in the next piece of the stream, which may end anywhere. `[DONE]` is none. */
	push(piece: Uint8Array): CountedEvent[] {
		const bytes = joined(this.#rest, piece);
		const events: CountedEvent[] = [];
		let start = 0;
		for (let end = nextBlank(bytes, start); end >= 0; end = nextBlank(bytes, start)) {
			const block = bytes.subarray(start, end);
			start = end + 2;
			if (block[0] === COLON) continue;
			this.offset += block.length + 2;
			const data = this.#data(block);
			if (data) events.push({ data, offset: this.offset });
		}
		this.#rest = bytes.slice(start);
		return events;
	}

	#data(block: Uint8Array): Record<string, unknown> | undefined {
		const lines = this.#decoder.decode(block).split('\n');
		const text = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim());
		if (text.length === 0 || text[0] === '[DONE]') return undefined;
		const data: unknown = JSON.parse(text.join('\n'));
		return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : undefined;
	}
}

/** Where the next empty line begins, from `start` on: the first of two line breaks; -1 if there is none. */
function nextBlank(bytes: Uint8Array, start: number): number {
	for (let at = bytes.indexOf(NEWLINE, start); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
		if (bytes[at + 1] === NEWLINE) return at;
	}
	return -1;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
	if (first.length === 0) return second;
	const both = new Uint8Array(first.length + second.length);
	both.set(first);
	both.set(second, first.length);
	return both;
}
