/** The rows of a list that keep their places while a person is among them, so that a click meets what was pointed at. */

/** A row that stays although it does not fit: it is `hidden` by the search or a filter, or there is no such thing any more (`gone`). */
export type Stray = 'hidden' | 'gone';

export interface HeldRows<Row> {
	rows: readonly Row[];
	/** By key. */
	strays: ReadonlyMap<string, Stray>;
}

/** So many rows stay that do not fit: a list may change for as long as the pointer rests on it. */
export const MOST_STRAYS = 200;
const NONE: ReadonlyMap<string, Stray> = new Map();

/** Rows that keep nothing. */
export function freeRows<Row>(rows: readonly Row[]): HeldRows<Row> {
	return { rows, strays: NONE };
}

/**
 * The rows `before` in their order and as they are now, then those of `fitting` that are new. A row that has left `fitting` stays,
 * as it is in `all`, or as it was. Where nothing of `before` is left in `all`, such as on another page of a list, nothing stays.
 */
export function heldRows<Row>(
	before: readonly Row[],
	fitting: readonly Row[],
	all: readonly Row[],
	key: (row: Row) => string
): HeldRows<Row> {
	const fits = new Map(fitting.map((row) => [key(row), row]));
	const exists = new Map(all.map((row) => [key(row), row]));
	const keys = new Set(before.map(key));
	if (![...keys].some((one) => exists.has(one))) return freeRows(fitting);
	const strayKeys = [...keys].filter((one) => !fits.has(one)).slice(-MOST_STRAYS);
	const strays = new Map(strayKeys.map((one) => [one, exists.has(one) ? ('hidden' as const) : ('gone' as const)]));
	const kept = before
		.filter((row) => fits.has(key(row)) || strays.has(key(row)))
		.map((row) => fits.get(key(row)) ?? exists.get(key(row)) ?? row);
	return { rows: [...kept, ...fitting.filter((row) => !keys.has(key(row)))], strays: strays.size > 0 ? strays : NONE };
}
