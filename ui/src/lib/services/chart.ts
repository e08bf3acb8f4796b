/** The geometry of the charts: pure functions. Times are Unix seconds, coordinates are pixels. */

export interface Point {
	at: number;
	/** Null: it is not known, or there is none. */
	value: number | null;
	/** Why there is none, in words; undefined: it is not known. */
	none?: string | undefined;
}

/** What is drawn where: times from `from` to `to` between the margins, values from 0 to `top`. */
export interface Scale {
	width: number;
	height: number;
	from: number;
	to: number;
	top: number;
}

/** Room for the labels of the axes: on the left for values, on the right for half of the last time, below for times. */
export const MARGIN = { left: 60, right: 20, top: 8, bottom: 22 };

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
/** Distances of the times at an axis. */
const STEPS = [5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY];
const MOST_TIMES = 7;

/** The place of a time. */
export function xOf(at: number, { width, from, to }: Scale): number {
	return round(MARGIN.left + ((at - from) / (to - from)) * (width - MARGIN.left - MARGIN.right));
}

/** The place of a value. */
export function yOf(value: number, { height, top }: Scale): number {
	const room = height - MARGIN.top - MARGIN.bottom;
	return round(height - MARGIN.bottom - (top > 0 ? Math.min(1, value / top) : 0) * room);
}

/** The time at a place. */
export function timeAt(x: number, { width, from, to }: Scale): number {
	return from + ((x - MARGIN.left) / (width - MARGIN.left - MARGIN.right)) * (to - from);
}

/** The least of 1, 2 and 5 times a power of ten that is not less than a value: the top of an axis. */
export function roundTop(most: number): number {
	if (most <= 0) return 1;
	const power = 10 ** Math.floor(Math.log10(most));
	return ([1, 2, 5].find((factor) => factor * power >= most) ?? 10) * power;
}

/**
 * Round local times within a span, for its axis. `offsetAt`: the seconds east of UTC at a time; they differ where the clocks are
 * changed. A local time that comes twice then is the earlier one, one that is left out is no time of the axis.
 */
export function timesOf(from: number, to: number, offsetAt: (at: number) => number): number[] {
	const step = STEPS.find((one) => (to - from) / one <= MOST_TIMES) ?? DAY;
	const offset = offsetAt(from);
	const times: number[] = [];
	for (let local = Math.ceil((from + offset) / step) * step; ; local += step) {
		const at = local - offsetAt(local - offset);
		if (at > to) return times;
		if (at >= from && at > (times.at(-1) ?? -Infinity)) times.push(at);
	}
}

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

/** The `d` of an SVG path: a line for each segment of several points. */
export function pathOf(points: readonly Point[], scale: Scale, longest: number): string {
	return segments(points, longest)
		.filter((part) => part.length > 1)
		.map((part) => part.map(({ at, value }, place) => `${place === 0 ? 'M' : 'L'}${xOf(at, scale)} ${yOf(value, scale)}`).join(''))
		.join('');
}

/** The width of a point that is drawn by itself. */
export const DOT = 5;

/** The `d` of an SVG path with the points of the segments that are narrower than a dot: lines that could not be seen. */
export function dotsOf(points: readonly Point[], scale: Scale, longest: number): string {
	return segments(points, longest)
		.filter((part) => xOf(part.at(-1)?.at ?? 0, scale) - xOf(part[0]?.at ?? 0, scale) < DOT)
		.flatMap((part) => part.map(({ at, value }) => `M${xOf(at, scale)} ${yOf(value, scale)}h0`))
		.join('');
}

/** The largest known value; 0 without one. */
export function largest(points: readonly Point[]): number {
	return points.reduce((most, { value }) => Math.max(most, value ?? 0), 0);
}

/** The sum of the known values. */
export function sum(points: readonly Point[]): number {
	return points.reduce((all, { value }) => all + (value ?? 0), 0);
}

/** The last point; undefined if there is none, or if it is older than `longest` (seconds). */
export function latest(points: readonly Point[], now: number, longest: number): Point | undefined {
	const last = points.at(-1);
	return last === undefined || now - last.at > longest ? undefined : last;
}

/** The last point with a value; undefined without one. */
export function lastKnown(points: readonly Point[]): { at: number; value: number } | undefined {
	const found = points.findLast(({ value }) => value !== null);
	return found && { at: found.at, value: found.value ?? 0 };
}

/** The number of the point that is nearest to a time; -1 without points. */
export function nearest(points: readonly Point[], at: number): number {
	let found = -1;
	for (const [place, point] of points.entries())
		if (found < 0 || Math.abs(point.at - at) < Math.abs((points[found]?.at ?? 0) - at)) found = place;
	return found;
}

function round(value: number): number {
	return Math.round(value * 10) / 10;
}
