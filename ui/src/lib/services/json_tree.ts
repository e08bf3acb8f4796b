/** A JSON value as the rows of a tree, with bounds, as it comes from a model or from a tool. */

/** Deeper values are shown as text. */
export const DEEPEST = 30;
/** How many entries of an object or an array are shown at first, and with each further step. */
export const STEP = 50;
/** How many characters of a text are shown at first. */
export const LONG_TEXT = 400;

export type Kind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

export function kindOf(value: unknown): Kind {
	if (Array.isArray(value)) return 'array';
	if (value === null || value === undefined) return 'null';
	const type = typeof value;
	return type === 'object' || type === 'string' || type === 'number' || type === 'boolean' ? type : 'string';
}

/** The entries of an object or an array, each with its name; none of other values. */
export function entriesOf(value: unknown, most: number): [string, unknown][] {
	if (Array.isArray(value)) return value.slice(0, most).map((entry: unknown, at) => [String(at), entry]);
	if (kindOf(value) !== 'object') return [];
	const entries: [string, unknown][] = [];
	for (const name of Object.keys(value as object)) {
		if (entries.length >= most) break;
		entries.push([name, (value as Record<string, unknown>)[name]]);
	}
	return entries;
}

export function countOf(value: unknown): number {
	if (Array.isArray(value)) return value.length;
	return kindOf(value) === 'object' ? Object.keys(value as object).length : 0;
}

/** The text as a value; undefined if it is not (yet) JSON. */
export function parsedJson(text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		return undefined;
	}
}

/** The value as a text with indentation; what JSON cannot express is `null`. */
export function jsonText(value: unknown): string {
	try {
		return JSON.stringify(value, null, 2) ?? 'null';
	} catch {
		return String(value);
	}
}

/** Whether the value is small enough to be shown whole: at most `most` entries, in at most four levels. */
export function isSmall(value: unknown, most: number): boolean {
	let left = most;
	const count = (part: unknown, depth: number): void => {
		for (const [, entry] of entriesOf(part, left + 1)) {
			left -= 1;
			if (left < 0) return;
			if (countOf(entry)) {
				if (depth >= 4) left = -1;
				else count(entry, depth + 1);
			}
		}
	};
	count(value, 1);
	return left >= 0;
}

/** A list of records with the same few plain fields, which is better shown as a table: its columns; else null. */
export function columnsOf(value: unknown): string[] | null {
	if (!Array.isArray(value) || value.length < 2) return null;
	const columns = new Set<string>();
	for (const row of value.slice(0, 200)) {
		if (kindOf(row) !== 'object') return null;
		for (const [name, entry] of entriesOf(row, 9)) {
			if (countOf(entry) > 0) return null;
			columns.add(name);
		}
	}
	return columns.size > 0 && columns.size <= 8 ? [...columns] : null;
}
