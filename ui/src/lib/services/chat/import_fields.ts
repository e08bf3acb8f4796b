/** Reads fields of imported files. Such a file may come from anyone: each field is copied only if it has the right type, and cut at a bound. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Fields = Record<string, unknown>;

/** Bounds of values without a fixed form (parameters, schemas). */
const MAX_DEPTH = 32;
const MAX_VALUES = 5_000;

const DAY_MS = 86_400_000;
// signs that turn the direction of what follows, and control characters
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** The value as an object; undefined if it is none. */
export function fieldsOf(value: unknown): Fields | undefined {
	return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** The value as a list of at most `max` entries; an empty one if it is none. */
export function listOf(value: unknown, max: number): unknown[] {
	return Array.isArray(value) ? value.slice(0, max) : [];
}

/** The value as a text of at most `max` UTF-16 units, which has no half characters. */
export function textOf(value: unknown, max: number): string {
	return typeof value === 'string' ? value.slice(0, max).replace(/\p{Surrogate}/gu, '\ufffd') : '';
}

/** The value as one line: a title, a name. */
export function lineOf(value: unknown, max: number): string {
	return textOf(value, max * 4)
		.replace(CONTROLS, ' ')
		.replace(/\s+/g, ' ')
		.trim()
		.slice(0, max)
		.replace(/\p{Surrogate}/gu, '');
}

/** The value as a count or a duration; null if it is none. */
export function countOf(value: unknown): number | null {
	return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : null;
}

/** The value as a time in ms, not after tomorrow. */
export function timeOf(value: unknown, now: number): number {
	const time = countOf(value);
	return time === null || time > now + DAY_MS ? now : Math.round(time);
}

/** One of the allowed texts. */
export function choiceOf<T extends string>(value: unknown, allowed: readonly T[], otherwise: T): T {
	return allowed.find((one) => one === value) ?? otherwise;
}

/** A copy of a value of any form, if it is not deeper than 32 levels and has at most 5,000 values; else undefined. */
export function boundedJson(value: unknown): Json | undefined {
	const left = { values: MAX_VALUES };
	return copyOf(value, MAX_DEPTH, left);
}

function copyOf(value: unknown, depth: number, left: { values: number }): Json | undefined {
	left.values -= 1;
	if (left.values < 0 || depth === 0) return undefined;
	if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
	if (typeof value === 'string') return textOf(value, 100_000);
	if (Array.isArray(value)) {
		if (value.length > left.values) return undefined;
		const copies = value.map((one) => copyOf(one, depth - 1, left));
		return copies.includes(undefined) ? undefined : (copies as Json[]);
	}
	const fields = fieldsOf(value);
	if (!fields) return undefined;
	const copies: [string, Json][] = [];
	for (const [key, one] of Object.entries(fields)) {
		if (key === '__proto__') continue;
		const copy = copyOf(one, depth - 1, left);
		if (copy === undefined) return undefined;
		copies.push([textOf(key, 1_000), copy]);
	}
	return Object.fromEntries(copies);
}
