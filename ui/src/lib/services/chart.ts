/** The geometry of the small charts: pure functions. Times are Unix seconds, coordinates are in the chart's own units. */

export interface Point {
	at: number;
	/** Null: it is not known. */
	value: number | null;
}

export const WIDTH = 300;
export const HEIGHT = 60;
/** The last hour is shown. */
export const SPAN_S = 3_600;

/**
 * The parts of a line without gaps: points that follow one another, each with a value. A gap is a value that is not known, and
 * two points that are further apart than `longest` (seconds).
 */
export function segments(points: readonly Point[], longest: number): { at: number; value: number }[][] {
	const parts: { at: number; value: number }[][] = [];
	let part: { at: number; value: number }[] = [];
	for (const { at, value } of points) {
		const last = part.at(-1);
		if (value === null || (last !== undefined && at - last.at > longest)) {
			if (part.length > 0) parts.push(part);
			part = [];
		}
		if (value !== null) part.push({ at, value });
	}
	if (part.length > 0) parts.push(part);
	return parts;
}

/** The `d` of an SVG path: a line for each segment; a single point is a short dash. The newest time is at the right. */
export function pathOf(points: readonly Point[], now: number, most: number, longest: number): string {
	const x = (at: number): number => round(WIDTH - ((now - at) / SPAN_S) * WIDTH);
	const y = (value: number): number => round(HEIGHT - (most > 0 ? Math.min(1, value / most) : 0) * (HEIGHT - 2) - 1);
	return segments(points, longest)
		.map((part) => {
			const [first] = part;
			if (part.length === 1 && first) return `M${x(first.at)} ${y(first.value)}h1`;
			return part.map(({ at, value }, place) => `${place === 0 ? 'M' : 'L'}${x(at)} ${y(value)}`).join('');
		})
		.join('');
}

/** The largest known value; 0 without one. */
export function largest(points: readonly Point[]): number {
	return points.reduce((most, { value }) => Math.max(most, value ?? 0), 0);
}

/** The value of the last point; null if there is none, or if it is older than `longest` (seconds). */
export function latest(points: readonly Point[], now: number, longest: number): number | null {
	const last = points.at(-1);
	return last === undefined || now - last.at > longest ? null : last.value;
}

function round(value: number): number {
	return Math.round(value * 10) / 10;
}
