import { largest, lastKnown, latest, sum, type Point } from '$lib/services/chart';
import { duration } from '$lib/services/duration';
import { courseOf, type Measure, type Sample } from '$lib/services/recent_metrics';
import { text } from '$lib/text';

/** What the lines of the charts are of, and their values in words. */

export interface Line {
	label: string;
	points: readonly Point[];
}

/** What is written of a line. */
export interface Reading {
	label: string;
	/** The sum of events, not one value. */
	isSum: boolean;
	isKnown: boolean;
	shown: string;
	/** The last known value with its age, if the latest is not known, and the largest one. */
	more: string[];
}

interface Read {
	/** The number of the chosen point; -1: none is chosen. */
	place: number;
	now: number;
	/** A point that is older (seconds) is not the latest one. */
	longest: number;
	/** The values are numbers of events: their sum is shown instead of the latest one. */
	isCount: boolean;
	format: (value: number) => string;
}

/** The numbers that come from requests that ended. */
const OF_REQUESTS: ReadonlySet<Measure> = new Set<Measure>([
	'queue_wait_p50_ms',
	'queue_wait_p95_ms',
	'first_token_p50_ms',
	'first_token_p95_ms',
	'cache_hit_rate'
]);

/** The course of one number; where a sample can have no value of it, as no request ended for example, with why. */
export function valuesOf(samples: readonly Sample[], measure: Measure): Point[] {
	return courseOf(samples, measure).map((point, place) => ({ ...point, none: point.value === null ? noneOf(samples[place], measure) : undefined }));
}

function noneOf(sample: Sample | undefined, measure: Measure): string | undefined {
	// without the number of requests the sample follows a gap: then the others are not known either
	if (!sample || sample.requests_per_s === null) return undefined;
	if (OF_REQUESTS.has(measure)) return sample.requests_per_s === 0 ? text.overview.noRequests : text.overview.noValue;
	// of a model that is not loaded
	return measure === 'gpu_utilization' && sample.memory_used_mib === 0 ? text.overview.noValue : undefined;
}

/** What is written of a line: the value of the chosen point, else of all or of the latest one. */
export function readingOf({ label, points }: Line, { place, now, longest, isCount, format }: Read): Reading {
	const before = lastKnown(points);
	const isSum = isCount && place < 0 && before !== undefined;
	const point = place < 0 ? latest(points, now, longest) : points[place];
	const value = isSum ? sum(points) : (point?.value ?? null);
	const shown = value === null ? (point?.none ?? text.common.unknown) : format(value);
	const isOld = value === null && place < 0;
	return {
		label,
		isSum,
		isKnown: value !== null,
		shown: isSum ? text.overview.inAll(shown) : shown,
		more: before
			? [...(isOld ? [text.overview.lastKnown(format(before.value), duration(now - before.at))] : []), text.overview.most(format(largest(points)))]
			: []
	};
}

/** The same as a sentence for a screen reader. */
export function readingInWords({ label, isSum, shown, more }: Reading): string {
	return [(isSum ? text.overview.chartSum : text.overview.chartLine)(label, shown), ...more].join(', ');
}
