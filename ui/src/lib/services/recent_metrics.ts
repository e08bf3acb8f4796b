import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Point } from '$lib/services/chart';

export type RecentMetrics = components['schemas']['RecentMetricsBody'];
export type Sample = components['schemas']['MetricSample'];
/** The numbers of a sample. */
export type Measure = Exclude<keyof Sample, 'at'>;

const KEPT_S = 3_600;

/** The samples of the last hour. With an earlier answer only those that are new are asked for. Raises `ApiProblem`. */
export async function readRecentMetrics(before: RecentMetrics | undefined): Promise<RecentMetrics> {
	const last = before?.samples.at(-1)?.at;
	const query = last === undefined ? {} : { after: Math.floor(last) };
	const answer = await call(api.GET('/v1/admin/metrics/recent', { params: { query } }));
	return { ...answer, samples: joined(before?.samples ?? [], answer.samples, answer.now) };
}

/** Earlier samples and new ones, each once, of the hour before `now`. */
export function joined(before: readonly Sample[], added: readonly Sample[], now: number): Sample[] {
	const first = added[0]?.at ?? Infinity;
	return [...before.filter(({ at }) => at < first), ...added].filter(({ at }) => now - at <= KEPT_S);
}

/** The course of one number. */
export function courseOf(samples: readonly Sample[], measure: Measure): Point[] {
	return samples.map((sample) => ({ at: sample.at, value: sample[measure] }));
}
