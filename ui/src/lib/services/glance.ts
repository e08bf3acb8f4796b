import { api } from '$lib/api/client';
import { call } from '$lib/services/call';
import { readJobs, readQueues, type Job } from '$lib/services/jobs';
import type { Model } from '$lib/services/models';
import { nearestLimit, shareOf, type LimitUse, type TenantRow } from '$lib/services/tenants';
import { daysUntil, type UsageReport } from '$lib/services/usage';
import type { Worker } from '$lib/services/workers';

/**
 * What the overview answers without a click: which request waits longest, which tenants used most yesterday or are near a limit,
 * which workers have little memory left, and which models were loaded last and are not loaded now.
 */

/** Jobs of one tenant at one model are looked through; they wait nearly in the order in which they came. */
const LOOKED_THROUGH = 100;
const DAY_MS = 86_400_000;

/** The request that waits longest; undefined if none waits. Raises `ApiProblem`. */
export async function readLongestWait(): Promise<Job | undefined> {
	const waits = (await readQueues()).flatMap(({ model, tenants }) =>
		tenants.map(({ tenant, oldestWaitMs }) => ({ model, tenant, ms: oldestWaitMs ?? -1 }))
	);
	const longest = waits.reduce((one, other) => (other.ms > one.ms ? other : one), { model: '', tenant: '', ms: -1 });
	if (longest.ms < 0) return undefined;
	const { jobs } = await readJobs({ model: longest.model, tenant: longest.tenant, status: 'queued' }, LOOKED_THROUGH);
	return jobs.reduce<Job | undefined>((one, other) => (one && one.waitedMs >= other.waitedMs ? one : other), undefined);
}

/** The usage of the day (UTC) before that of `now`, by tenant and model. Raises `ApiProblem`. */
export async function readYesterday(now: Date): Promise<UsageReport> {
	const query = daysUntil(new Date(now.getTime() - DAY_MS), 1);
	return (await call(api.GET('/v1/admin/usage', { params: { query } }))) as UsageReport;
}

export interface Share {
	tenant: string;
	tokens: number;
	/** From 0 to 1. */
	share: number;
}

/** The tenants with the most input and output tokens of a report, the largest first. */
export function mostTokens(report: Pick<UsageReport, 'data'>, most: number): Share[] {
	const sums = new Map<string, number>();
	for (const { tenant, input_tokens, output_tokens } of report.data) {
		sums.set(tenant, (sums.get(tenant) ?? 0) + input_tokens + output_tokens);
	}
	const all = [...sums.values()].reduce((sum, tokens) => sum + tokens, 0);
	return [...sums]
		.filter(([, tokens]) => tokens > 0)
		.sort(([one, tokens], [other, more]) => more - tokens || (one < other ? -1 : 1))
		.slice(0, most)
		.map(([tenant, tokens]) => ({ tenant, tokens, share: tokens / all }));
}

export interface NearLimit extends LimitUse {
	tenant: string;
}

/** For each tenant that uses something of a limit, the limit of which it uses the largest part; the nearest tenants first. */
export function nearestLimits(rows: readonly TenantRow[], most: number): NearLimit[] {
	return rows
		.flatMap(({ tenant, use }) => {
			const nearest = use && nearestLimit(use);
			return nearest ? [{ tenant: tenant.name, ...nearest }] : [];
		})
		.sort((one, other) => shareOf(other) - shareOf(one) || (one.tenant < other.tenant ? -1 : 1))
		.slice(0, most);
}

/** The live workers with the least memory left, in parts of their memory; those of unknown memory come last. */
export function fullestWorkers(workers: readonly Worker[], most: number): Worker[] {
	const free = ({ memory }: Worker) => (memory?.free_mib == null || !memory.total_mib ? Infinity : memory.free_mib / memory.total_mib);
	return workers
		.filter(({ state }) => state === 'live')
		.sort((one, other) => (free(one) === free(other) ? (one.name < other.name ? -1 : 1) : free(one) - free(other)))
		.slice(0, most);
}

/**
 * The models that are not loaded: those of the latest loads first, then those that were never loaded, by name. Loads that the
 * platform begins by itself count, and loads by request that have failed.
 */
export function modelsToLoad(models: readonly Model[], most: number): Model[] {
	const at = ({ last_load: load, loaded_at }: Model) => Math.max(load?.at ?? 0, loaded_at ?? 0);
	return models
		.filter(({ runtime_state: state }) => state !== 'loaded')
		.sort((one, other) => at(other) - at(one) || (one.name < other.name ? -1 : 1))
		.slice(0, most);
}
