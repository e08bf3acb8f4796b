import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { asProblem, call } from '$lib/services/call';

export type Job = components['schemas']['JobObject'];
export type JobDetails = components['schemas']['JobDetails'];
export type QueuedModel = components['schemas']['QueuedModel'];
export type QueuedTenant = components['schemas']['QueuedTenant'];

/** Which jobs; empty texts, and another status, are no filter. */
export type JobFilter = Readonly<Record<string, string>>;

type JobStatus = 'running' | 'queued';

/** The first jobs of a filter, and whether there are more. */
export interface Jobs {
	jobs: Job[];
	hasMore: boolean;
}

/** The API gives so many jobs in a page. */
const PAGE = 200;
/** A page may have fewer jobs than were asked for, so that the others follow on further ones. */
const MOST_PAGES = 5;

/** The queues of all models. Raises `ApiProblem`. */
export async function readQueues(): Promise<QueuedModel[]> {
	return (await call(api.GET('/v1/admin/queue'))).models;
}

function isStatus(status: string | undefined): status is JobStatus {
	return status === 'running' || status === 'queued';
}

/** The id of a job that a search consists of; undefined for any other search. */
export function idIn(search: string): string | undefined {
	return /^[a-z]+[-_][0-9a-f]{32}(-\d+)?$/.test(search.trim()) ? search.trim() : undefined;
}

/** How many jobs there are for a filter, by the queues of the models. */
export function countOf(queues: readonly QueuedModel[], filter: JobFilter): number {
	const of = filter.model ? queues.filter(({ model }) => model === filter.model) : queues;
	const parts = filter.tenant ? of.flatMap(({ tenants }) => tenants.filter(({ tenant }) => tenant === filter.tenant)) : of;
	return parts.reduce(
		(sum, { queueDepth, running }) => sum + (filter.status === 'running' ? 0 : queueDepth) + (filter.status === 'queued' ? 0 : running),
		0
	);
}

/** The first `most` jobs of a filter, and the one with the id `sought` if it runs or waits. Raises `ApiProblem`. */
export async function readJobs(filter: JobFilter, most: number, sought?: string): Promise<Jobs> {
	const found = await readFirstJobs(filter, most);
	if (sought === undefined || !found.hasMore || found.jobs.some(({ id }) => id === sought)) return found;
	try {
		const job = await readJob(sought);
		return isStatus(job.status) ? { ...found, jobs: [...found.jobs, job] } : found;
	} catch (error) {
		if (asProblem(error).status === 404) return found;
		throw error;
	}
}

async function readFirstJobs(filter: JobFilter, most: number): Promise<Jobs> {
	const jobs: Job[] = [];
	let after: string | undefined;
	for (let pages = 0; pages < MOST_PAGES; pages += 1) {
		const query = {
			...(filter.model ? { model: filter.model } : {}),
			...(filter.tenant ? { tenant: filter.tenant } : {}),
			...(isStatus(filter.status) ? { status: filter.status } : {}),
			...(after === undefined ? {} : { after }),
			limit: Math.min(PAGE, most - jobs.length)
		};
		const page = await call(api.GET('/v1/admin/jobs', { params: { query } }));
		jobs.push(...page.data);
		if (page.next_after === null) return { jobs, hasMore: false };
		if (jobs.length >= most) break;
		after = page.next_after;
	}
	return { jobs, hasMore: true };
}

/** One job, and why it waits. Raises `ApiProblem`. */
export function readJob(id: string): Promise<JobDetails> {
	return call(api.GET('/v1/admin/jobs/{id}', { params: { path: { id } } }));
}

/** Cancel a job; returns its status: `running` while its engine is asked to stop. Raises `ApiProblem`. */
export async function cancelJob(id: string): Promise<string> {
	return (await call(api.DELETE('/v1/admin/queue/{id}', { params: { path: { id } } }))).status;
}

/** What the cancel of a tenant's jobs did. */
export type CancelledTenant = components['schemas']['CancelledTenant'];

/** Cancel the waiting jobs of a tenant at a model, and the running ones, too. Raises `ApiProblem`. */
export function cancelTenant(tenant: string, model: string, running: boolean): Promise<CancelledTenant> {
	return call(api.DELETE('/v1/admin/queue', { params: { query: { tenant, model, running } } }));
}

/** How many jobs each tenant has, in words, the most first: `acme 3, umbrella 1`. */
export function jobsByTenant(jobs: readonly Job[]): string {
	const counts = new Map<string, number>();
	for (const { tenant } of jobs) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
	return [...counts]
		.sort(([one, most], [other, more]) => more - most || (one < other ? -1 : 1))
		.map(([tenant, count]) => `${tenant} ${count}`)
		.join(', ');
}
