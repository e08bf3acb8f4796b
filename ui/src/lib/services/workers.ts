import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type Worker = components['schemas']['WorkerObject'];
export type Gpu = components['schemas']['WorkerGpu'];
export type HostedReplica = components['schemas']['WorkerReplica'];

/** So many pages of 100 workers are read. */
const MOST_PAGES = 10;
/** The worker agents send a heartbeat each second; after so long without one something is wrong. */
export const LATE_HEARTBEAT_S = 3;

/** All workers by name. Raises `ApiProblem`. */
export async function readWorkers(): Promise<Worker[]> {
	const workers: Worker[] = [];
	let after: string | undefined;
	for (let page = 0; page < MOST_PAGES; page += 1) {
		const query = after === undefined ? {} : { after };
		const answer = await call(api.GET('/v1/admin/workers', { params: { query } }));
		workers.push(...answer.data);
		after = answer.last_id ?? undefined;
		if (!answer.has_more || after === undefined) break;
	}
	return workers;
}

/** Drain a worker, or end that. Raises `ApiProblem`. */
export async function changeDrain(name: string, drain: boolean): Promise<void> {
	const params = { params: { path: { name } } };
	await call(
		drain
			? api.POST('/v1/admin/workers/{name}/drain', params)
			: api.DELETE('/v1/admin/workers/{name}/drain', params)
	);
}

/** Whether an operator drains it: such a drain can be ended. */
export function isDrained(worker: Worker): boolean {
	return worker.drain?.cause === 'operator';
}

/** The models that no other worker serves: what would wait while this worker drains. */
export function servedHereOnly(worker: Worker, workers: readonly Worker[]): string[] {
	const elsewhere = workers
		.filter((other) => other.name !== worker.name)
		.flatMap((other) => other.replicas.filter((replica) => replica.ready).map((replica) => replica.model));
	const here = worker.replicas.filter((replica) => replica.ready).map((replica) => replica.model);
	return [...new Set(here)].filter((model) => !elsewhere.includes(model)).sort();
}

/** The models with a replica on a worker, by name. */
export function modelsOf(worker: Worker): string[] {
	return [...new Set(worker.replicas.map((replica) => replica.model))].sort();
}

/** The memory (MiB) of each model on a worker, the largest first; models whose memory was not measured are left out. */
export function memoryByModel(worker: Worker): { model: string; mib: number }[] {
	const sums = new Map<string, number>();
	for (const { model, memory_mib } of worker.replicas) {
		if (memory_mib) sums.set(model, (sums.get(model) ?? 0) + memory_mib);
	}
	return [...sums].map(([model, mib]) => ({ model, mib })).sort((one, other) => other.mib - one.mib);
}

/** What other programs, and models whose memory was not measured, take of the device (MiB). */
export function otherMemory(worker: Worker): number {
	if (!worker.memory) return 0;
	const models = memoryByModel(worker).reduce((sum, { mib }) => sum + mib, 0);
	return Math.max(0, worker.memory.total_mib - worker.memory.free_mib - models);
}

/** How many requests run on a worker, and how many could. */
export function slotsOf(worker: Worker): { used: number; all: number } {
	return {
		used: worker.replicas.reduce((sum, replica) => sum + replica.slots_used, 0),
		all: worker.replicas.reduce((sum, replica) => sum + replica.slots, 0)
	};
}
