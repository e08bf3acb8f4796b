import { getRaw } from '$lib/api/raw';

/** What the platform says of a response that it keeps. */
export interface Inspection {
	headers: [string, string][];
	response: Record<string, unknown>;
}

/** What an answer took, as the platform has measured it; null: not known. */
export interface Measurements {
	queueWaitMs: number | null;
	gpuTimeMs: number | null;
	cacheHit: boolean | null;
	cachedTokens: number | null;
}

/** So many events are read at most, and so many bytes. */
const MOST_EVENTS = 3_000;
const MOST_BYTES = 8 * 1024 * 1024;

/** A response, with the headers of the answer. Null if it is not kept, or the platform does not answer. */
export async function readInspection(id: string, signal: AbortSignal): Promise<Inspection | null> {
	try {
		const answer = await getRaw(`/v1/responses/${encodeURIComponent(id)}`, 'application/json', signal);
		if (!answer.ok) return null;
		return { headers: [...answer.headers], response: (await answer.json()) as Record<string, unknown> };
	} catch {
		return null;
	}
}

/** The events of a response from the first one on, at most `MOST_EVENTS`. Empty if they are not kept. */
export async function readEvents(id: string, signal: AbortSignal): Promise<Record<string, unknown>[]> {
	const events: Record<string, unknown>[] = [];
	try {
		const answer = await getRaw(`/v1/responses/${encodeURIComponent(id)}?stream=true`, 'text/event-stream', signal);
		const reader = answer.ok ? answer.body?.getReader() : undefined;
		if (!reader) return [];
		const decoder = new TextDecoder();
		let rest = '';
		for (let bytes = 0; bytes < MOST_BYTES && events.length < MOST_EVENTS; ) {
			const { done, value } = await reader.read();
			if (done) return events;
			bytes += value.length;
			const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
			rest = blocks.pop() ?? '';
			events.push(...blocks.map(eventOf).filter((event) => event !== undefined));
		}
		await reader.cancel();
	} catch {
		// what has come is shown
	}
	return events.slice(0, MOST_EVENTS);
}

/** The data of an event. The last one, `[DONE]`, and comments are none. */
function eventOf(block: string): Record<string, unknown> | undefined {
	const lines = block.split('\n').filter((line) => line.startsWith('data:'));
	const data = lines.map((line) => line.slice(5).trim()).join('\n');
	return data === '' || data === '[DONE]' ? undefined : (JSON.parse(data) as Record<string, unknown>);
}

/** The measurements of a response: its own field, else the headers of its answer. */
export function measurementsOf({ headers, response }: Inspection): Measurements {
	const own = (response.measurements ?? {}) as Record<string, unknown>;
	const header = (name: string): string | undefined => headers.find(([known]) => known.toLowerCase() === name)?.[1];
	const count = (value: unknown, name: string): number | null => {
		if (typeof value === 'number') return value;
		const found = header(name);
		return found === undefined || !/^\d+$/.test(found) ? null : Number(found);
	};
	const hit = header('x-cache-hit');
	return {
		queueWaitMs: count(own.queue_wait_ms, 'x-queue-wait-ms'),
		gpuTimeMs: count(own.gpu_time_ms, 'x-gpu-time-ms'),
		cacheHit: typeof own.cache_hit === 'boolean' ? own.cache_hit : hit === undefined ? null : hit === 'true',
		cachedTokens: count(own.cache_tokens_reused, 'x-cache-tokens-reused')
	};
}
