import type { ToolResult } from '$lib/services/chat/new_records';

/** The calls of an answer that were begun, kept until all have results: a page that is loaded anew repeats none by itself. */
export interface BegunCalls {
	/** Ids of calls that were sent to the platform. */
	started: string[];
	results: ToolResult[];
}

/** Answers whose calls are kept; the oldest are dropped (those of removed conversations stay until then). */
export const MAX_BEGUN = 20;

export type AllBegun = Record<string, BegunCalls>;

/** What the browser's database has, as begun calls: what is not of their form is dropped. */
export function readBegun(stored: unknown): AllBegun {
	if (typeof stored !== 'object' || stored === null) return {};
	return Object.fromEntries(Object.entries(stored).filter((entry): entry is [string, BegunCalls] => isBegun(entry[1])));
}

function isBegun(value: unknown): value is BegunCalls {
	const { started, results } = (value ?? {}) as Partial<BegunCalls>;
	return Array.isArray(started) && Array.isArray(results);
}

/** All with the calls of this answer (null: without them), the latest one last, within the bound. */
export function withBegun(all: AllBegun, answer: string, calls: BegunCalls | null): AllBegun {
	const others = Object.entries(all).filter(([id]) => id !== answer);
	if (calls) others.push([answer, calls]);
	return Object.fromEntries(others.slice(-MAX_BEGUN));
}
