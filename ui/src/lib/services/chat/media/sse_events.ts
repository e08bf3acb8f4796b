/** One event of a stream: its data, or the text of a comment. */
export type SseEvent = { data: Record<string, unknown> } | { comment: string };

/**
 * Splits the text of a stream into events and comments (WHATWG HTML, "Server-sent events"). An event may have megabytes (an
 * image), so that pieces are joined once for each event.
 */
export class SseEvents {
	#pieces: string[] = [];
	#last = '';

	/** The events that end in the next piece of the text, which may end anywhere. `[DONE]` is none. */
	push(piece: string): SseEvent[] {
		if (piece === '') return [];
		const hasEnd = (this.#last + piece).includes('\n\n');
		this.#pieces.push(piece);
		this.#last = piece.at(-1) ?? '';
		if (!hasEnd) return [];
		const blocks = this.#pieces.join('').split('\n\n');
		const rest = blocks.pop() ?? '';
		this.#pieces = [rest];
		this.#last = rest.at(-1) ?? '';
		return blocks.flatMap(eventOf);
	}
}

function eventOf(block: string): SseEvent[] {
	if (block.startsWith(':')) return [{ comment: block.slice(1).trim() }];
	const lines = block.split('\n').filter((line) => line.startsWith('data:'));
	const text = lines.map((line) => line.slice(5).trim()).join('\n');
	if (text === '' || text === '[DONE]') return [];
	const data: unknown = JSON.parse(text);
	return typeof data === 'object' && data !== null ? [{ data: data as Record<string, unknown> }] : [];
}
