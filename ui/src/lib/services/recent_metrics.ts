import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Point } from '$lib/services/chart';

export type RecentMetrics = components['schemas']['RecentMetricsBody'];
export type Sample = components['schemas']['MetricSample'];
/** The numbers of a sample. */
export type Measure = Exclude<keyof Sample, 'at'>;

/** The times that can be shown, in seconds, by their names in the address. */
export const RANGES = { '15m': 900, '1h': 3_600, '6h': 21_600, '24h': 86_400, '7d': 604_800 } as const;
export type Range = keyof typeof RANGES;
export const USUAL: Range = '1h';

/** The range of an address; the usual one if it has none, or an unknown one. */
export function rangeOf(query: string): Range {
	const given = new URLSearchParams(query).get('range');
	return Object.keys(RANGES).find((name): name is Range => name === given) ?? USUAL;
}

/** The query of an address with this range in it, which the usual one is not. */
export function queryOfRange(range: Range, query: string): string {
	const given = new URLSearchParams(query);
	given.delete('range');
	if (range !== USUAL) given.set('range', range);
	return given.size > 0 ? `?${given}` : '';
}

/**
 * The samples of the last `span` seconds. With an earlier answer of the same span only those that are new are asked for. Raises
 * `ApiProblem`.
 */
export async function readRecentMetrics(span: number, before: RecentMetrics | undefined): Promise<RecentMetrics> {
	const last = before?.samples.at(-1)?.at;
	const query = { span_s: span, ...(last === undefined ? {} : { after: Math.floor(last) }) };
	const answer = await call(api.GET('/v1/admin/metrics/recent', { params: { query } }));
	return { ...answer, samples: joined(before?.samples ?? [], answer.samples, answer.now - span) };
}

/** Earlier samples and new ones, each once, that are not older than `since`. */
export function joined(before: readonly Sample[], added: readonly Sample[], since: number): Sample[] {
	const first = added[0]?.at ?? Infinity;
	return [...before.filter(({ at }) => at < first), ...added].filter(({ at }) => at >= since);
}

/** The course of one number. */
export function courseOf(samples: readonly Sample[], measure: Measure): Point[] {
	return samples.map((sample) => ({ at: sample.at, value: sample[measure] }));
}
