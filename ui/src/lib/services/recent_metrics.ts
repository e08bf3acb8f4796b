import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Point } from '$lib/services/chart';

export type RecentMetrics = components['schemas']['RecentMetricsBody'];
export type Sample = components['schemas']['MetricSample'];
/** The numbers of a sample. */
export type Measure = Exclude<keyof Sample, 'at' | 'errors'>;

/** What the rates are of: a model, a tenant, or (null) the whole platform. */
export type Subject = { kind: 'model' | 'tenant'; name: string } | null;
const KINDS = ['model', 'tenant'] as const;

/** The times that can be shown, in seconds, by their names in the address. */
export const RANGES = { '15m': 900, '1h': 3_600, '6h': 21_600, '24h': 86_400, '7d': 604_800 } as const;
export type Range = keyof typeof RANGES;
export const USUAL: Range = '1h';

/** The range of an address; the usual one if it has none, or an unknown one. */
export function rangeOf(query: string): Range {
	const given = new URLSearchParams(query).get('range');
	return Object.keys(RANGES).find((name): name is Range => name === given) ?? USUAL;
}

/** The subject of an address. */
export function subjectOf(query: string): Subject {
	const given = new URLSearchParams(query);
	const kind = KINDS.find((one) => given.get(one));
	return kind === undefined ? null : { kind, name: given.get(kind) ?? '' };
}

/** The query of an address with this range and subject in it, but for the usual ones. */
export function queryOf(range: Range, subject: Subject, query: string): string {
	const given = new URLSearchParams(query);
	for (const name of ['range', ...KINDS]) given.delete(name);
	if (range !== USUAL) given.set('range', range);
	if (subject) given.set(subject.kind, subject.name);
	return given.size > 0 ? `?${given}` : '';
}

/** The value of a choice for a subject, and the subject of a value. */
export function choiceOf(subject: Subject): string {
	return subject ? `${subject.kind} ${subject.name}` : '';
}
export function chosenSubject(value: string): Subject {
	const kind = KINDS.find((one) => value.startsWith(`${one} `));
	return kind === undefined ? null : { kind, name: value.slice(kind.length + 1) };
}

/**
 * The samples of the last `span` seconds. With an earlier answer of the same span and subject only those that are new are asked for. Raises
 * `ApiProblem`.
 */
export async function readRecentMetrics(span: number, of: Subject, before: RecentMetrics | undefined): Promise<RecentMetrics> {
	const last = before?.samples.at(-1)?.at;
	const query = { span_s: span, ...(of && { [of.kind]: of.name }), ...(last === undefined ? {} : { after: Math.floor(last) }) };
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

/** The numbers of refused and failed requests by error code, the most frequent first. */
export function errorsOf(samples: readonly Sample[]): { code: string; count: number }[] {
	const counts = new Map<string, number>();
	for (const { errors } of samples)
		for (const [code, count] of Object.entries(errors)) counts.set(code, (counts.get(code) ?? 0) + count);
	return [...counts]
		.map(([code, count]) => ({ code, count }))
		.sort((one, other) => other.count - one.count || one.code.localeCompare(other.code));
}

/** Codes that no request of the history has: of callers that are not identified, and of changes. Others may be those of requests for models. */
const UNRECORDED: ReadonlySet<string> = new Set([
	...['invalid_api_key', 'session_ended', 'link_used', 'sign_in_refused', 'no_role', 'email_not_allowed', 'provider_unavailable'],
	...['inference_required', 'admin_required', 'admin_sign_in_required', 'metrics_required', 'governance_required', 'platform_open'],
	...['origin_not_allowed', 'method_not_allowed', 'head_too_large', 'target_too_long', 'alert_not_firing', 'set_by_configuration'],
	...['tenant_exists', 'tenant_name_reserved', 'too_many_tenants', 'too_many_keys', 'key_exists', 'tenancy_disabled', 'model_exists'],
	...['invalid_load_request', 'invalid_addition', 'invalid_flush', 'too_many_models', 'too_many_drains', 'too_many_downloads'],
	...['too_many_flushes', 'operation_not_cancellable', 'signature_refused', 'already_signed', 'proposal_ended', 'too_many_proposals']
]);

/** In place of each code that the table of the API lacks. */
const OTHER = 'other';

/** The address of the requests with an error code in the time of the samples, as a query; undefined if the history has none with it. */
export function requestsQuery(code: string, of: Subject, samples: readonly Sample[]): string | undefined {
	const [first, second] = samples;
	if (first === undefined || code === OTHER || UNRECORDED.has(code)) return undefined;
	// a sample counts what was since the one before
	const since = new Date((first.at - Math.max(0, (second?.at ?? first.at) - first.at)) * 1_000).toISOString();
	return `?${new URLSearchParams({ ...(of && { [of.kind]: of.name }), code, since })}`;
}
