import { mebibytes } from '$lib/services/format';
import { dotTone, type Dot } from '$lib/services/model_table';
import type { TableModel } from '$lib/services/table';
import { isDrained, LATE_HEARTBEAT_S, slotsOf, type HostedReplica, type Worker } from '$lib/services/workers';
import { text } from '$lib/text';

const words = text.workers;
/** What deserves a look comes first. */
const CONDITIONS = ['lost', 'late', 'drained', 'stops', 'live', 'away'] as const;
export type Condition = (typeof CONDITIONS)[number];

/** The state of a worker in one word: the most serious of those that hold. */
export function conditionOf(worker: Worker): Condition {
	if (worker.state === 'lost') return 'lost';
	if (worker.state === 'live' && isLate(worker)) return 'late';
	if (worker.drain) return isDrained(worker) ? 'drained' : 'stops';
	return worker.state;
}

function isLate({ heartbeat_age_s }: Worker): boolean {
	return (heartbeat_age_s ?? 0) > LATE_HEARTBEAT_S;
}

export const CONDITION_TONES = { lost: 'bad', late: 'bad', drained: 'wait', stops: 'wait', live: 'good', away: 'plain' } as const;

/** The GPUs of a worker, equal ones once: `2 × NVIDIA H200`; null for a worker without GPU. */
export function gpusInWords({ gpus }: Worker): string | null {
	const counts = new Map<string, number>();
	for (const { name } of gpus) counts.set(name, (counts.get(name) ?? 0) + 1);
	return [...counts].map(([name, count]) => (count === 1 ? name : words.several(count, name))).join(', ') || null;
}

/** The memory in use (MiB); null if the worker reports none. */
export function usedMemory({ memory }: Worker): number | null {
	return memory && memory.total_mib > 0 ? memory.total_mib - memory.free_mib : null;
}

/** The largest value among a worker's GPUs; null if none reports it. */
export function highestOf({ gpus }: Worker, field: 'utilization' | 'temperature_c'): number | null {
	const values = gpus.map((gpu) => gpu[field]).filter((value) => value !== null);
	return values.length > 0 ? Math.max(...values) : null;
}

/** The power (W) of all GPUs of a worker that report it; null if none does. */
export function powerOf({ gpus }: Worker): number | null {
	const values = gpus.map(({ power_w }) => power_w).filter((value) => value !== null);
	return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) : null;
}

/** A dot for each replica, with its model and its state in words. */
export function replicaDots({ replicas }: Worker): Dot[] {
	return replicas.map((replica) => ({
		key: replica.name,
		tone: dotTone(replica),
		label: words.replicaIs(replica.model, replicaState(replica))
	}));
}

/** The state of a replica in words. */
export function replicaState({ stalled, state, ready }: HostedReplica): string {
	if (stalled) return words.stalled;
	if (state !== 'up') return words.replicaStates[state];
	return ready ? words.ready : words.closed;
}

/** How long a worker has been registered, in seconds; null for one that is gone. */
export function registeredFor({ registered_at, state }: Worker, nowMs: number): number | null {
	return registered_at === null || state !== 'live' ? null : Math.max(0, nowMs / 1_000 - registered_at);
}

/** Why the GPUs of a worker cannot be read; undefined for a worker that is to have none. */
export function gpuProblem({ device, memory }: Worker): string | undefined {
	return device === 'cpu' ? undefined : (memory?.error ?? undefined);
}

/** Whether there is news of a worker that needs a line of its own: the drain of an operator, its loss, GPUs that cannot be read. */
export function hasNews(worker: Worker): boolean {
	return isDrained(worker) || worker.lost_at !== null || gpuProblem(worker) !== undefined;
}

/** The memory in use and all of it: `88.9 / 140.4 GiB`. */
export function memoryInWords(usedMib: number, totalMib: number): string {
	const [used, total] = [mebibytes(usedMib), mebibytes(totalMib)];
	const unit = total.slice(total.lastIndexOf(' '));
	return `${used.endsWith(unit) ? used.slice(0, -unit.length) : used} / ${total}`;
}

const titles = words.columns;

export const WORKER_TABLE: TableModel<Worker> = {
	columns: [
		{ id: 'name', title: titles.name, value: ({ name }) => name, shown: 'always', card: 'name' },
		{ id: 'state', title: titles.state, value: (worker) => CONDITIONS.indexOf(conditionOf(worker)), card: 'fact' },
		{ id: 'host', title: titles.host, value: ({ host }) => host },
		{ id: 'gpus', title: titles.gpus, value: gpusInWords },
		{ id: 'utilization', title: titles.utilization, value: (worker) => highestOf(worker, 'utilization'), isLargestFirst: true, isNumber: true },
		{
			id: 'temperature',
			title: titles.temperature,
			value: (worker) => highestOf(worker, 'temperature_c'),
			isLargestFirst: true,
			isNumber: true,
			shown: 'chosen'
		},
		{ id: 'power', title: titles.power, value: powerOf, isLargestFirst: true, isNumber: true, shown: 'chosen' },
		{ id: 'memory', title: titles.memory, value: usedMemory, isLargestFirst: true, card: 'fact' },
		{ id: 'free', title: titles.free, value: ({ memory }) => memory?.free_mib ?? null, isLargestFirst: true, isNumber: true },
		{ id: 'replicas', title: titles.replicas, value: ({ replica_count }) => replica_count, isLargestFirst: true, card: 'fact' },
		{ id: 'slots', title: titles.slots, value: (worker) => slotsOf(worker).used, isLargestFirst: true },
		{ id: 'heartbeat', title: titles.heartbeat, value: ({ heartbeat_age_s }) => heartbeat_age_s, isLargestFirst: true, isNumber: true },
		{
			id: 'since',
			title: titles.since,
			value: ({ registered_at, state }) => (registered_at === null || state !== 'live' ? null : -registered_at),
			isNumber: true,
			shown: 'chosen'
		},
		{ id: 'stoker', title: titles.stoker, value: ({ versions }) => versions.stoker, shown: 'chosen' },
		{ id: 'driver', title: titles.driver, value: ({ versions }) => versions.driver, shown: 'chosen' },
		{ id: 'python', title: titles.python, value: ({ versions }) => versions.python, shown: 'chosen' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [
		{
			id: 'state',
			title: titles.state,
			of: conditionOf,
			options: CONDITIONS.map((condition) => ({ value: condition, label: words.conditions[condition] }))
		}
	],
	searched: ({ name, host, gpus, replicas, versions }) => [
		name,
		host ?? '',
		versions.stoker ?? '',
		...gpus.flatMap((gpu) => [gpu.name, gpu.uuid]),
		...replicas.map(({ model }) => model)
	],
	key: ({ name }) => name,
	sort: 'name'
};
