import { expect, test } from 'vitest';
import { rowsOf, viewOf } from '../src/lib/services/table';
import {
	conditionOf,
	gpuProblem,
	gpusInWords,
	hasNews,
	highestOf,
	memoryInWords,
	powerOf,
	registeredFor,
	replicaDots,
	usedMemory,
	WORKER_TABLE
} from '../src/lib/services/worker_table';
import type { Worker } from '../src/lib/services/workers';

function worker(name: string, fields: Record<string, unknown> = {}): Worker {
	return {
		name,
		state: 'live',
		host: 'host-a',
		heartbeat_age_s: 0.4,
		registered_at: 1_000,
		lost_at: null,
		drain: null,
		gpus: [],
		memory: null,
		replicas: [],
		replica_count: 0,
		versions: { stoker: '0.1.0', python: '3.12', driver: null, environments: {} },
		...fields
	} as unknown as Worker;
}

function gpu(name: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
	return { name, uuid: `GPU-of-${name}`, utilization: null, temperature_c: null, power_w: null, ...fields };
}

const OPERATOR = { cause: 'operator', actor: 'admin', at: 1 };

test.each([
	[{}, 'live'],
	[{ heartbeat_age_s: 3.5 }, 'late'],
	[{ heartbeat_age_s: 3.5, drain: OPERATOR }, 'late'],
	[{ drain: OPERATOR }, 'drained'],
	[{ drain: { cause: 'shutdown', actor: null, at: null } }, 'stops'],
	[{ state: 'lost', drain: OPERATOR, heartbeat_age_s: null }, 'lost'],
	[{ state: 'away', drain: OPERATOR, heartbeat_age_s: null }, 'drained'],
	[{ state: 'away', heartbeat_age_s: null }, 'away']
])('the state of a worker with %j is %s', (fields, expected) => {
	expect(conditionOf(worker('w', fields))).toBe(expected);
});

test('equal GPUs are counted, and a worker without GPU has none', () => {
	const gpus = ['H200', 'H200', 'L4'].map((name) => gpu(name));
	expect(gpusInWords(worker('w', { gpus }))).toBe('2 × H200, L4');
	expect(gpusInWords(worker('w'))).toBeNull();
});

test('of several GPUs the busiest and the hottest one count, and the sum of their power; unknown values count nothing', () => {
	const both = worker('w', {
		gpus: [gpu('a', { utilization: 0.2, temperature_c: 71, power_w: 300 }), gpu('b', { utilization: 0.9, power_w: 150.5 })]
	});
	expect([highestOf(both, 'utilization'), highestOf(both, 'temperature_c'), powerOf(both)]).toEqual([0.9, 71, 450.5]);
	const silent = worker('w', { gpus: [gpu('a')] });
	expect([highestOf(silent, 'utilization'), powerOf(silent)]).toEqual([null, null]);
});

test('the memory in use is known where the worker reports its memory', () => {
	expect(usedMemory(worker('w', { memory: { total_mib: 1_000, free_mib: 400 } }))).toBe(600);
	expect(usedMemory(worker('w', { memory: { total_mib: 0, free_mib: 0 } }))).toBeNull();
	expect(usedMemory(worker('w'))).toBeNull();
});

test.each([
	[91_000, 143_771, '88.9 / 140.4 GiB'],
	[512, 8_192, '512 MiB / 8.0 GiB'],
	[0, 512, '0 / 512 MiB']
])('%i MiB of %i MiB are written as %s', (used, total, expected) => {
	expect(memoryInWords(used, total)).toBe(expected);
});

test('a driver that cannot be read is news of a worker with a GPU only', () => {
	const memory = { total_mib: 1_000, free_mib: 400, error: 'no GPU can be read' };
	expect(hasNews(worker('w', { device: 'cuda', memory }))).toBe(true);
	expect(gpuProblem(worker('w', { device: 'cuda', memory }))).toBe('no GPU can be read');
	expect(hasNews(worker('w', { device: 'cpu', memory }))).toBe(false);
	expect(hasNews(worker('w', { device: 'cuda', memory: { ...memory, error: null } }))).toBe(false);
});

test('each replica is a dot with its model and its state in words', () => {
	const replica = { name: 'a-1', model: 'a', state: 'up', ready: true, stalled: false };
	const replicas = [replica, { ...replica, name: 'a-2', ready: false }, { ...replica, name: 'b-1', model: 'b', stalled: true }];
	expect(replicaDots(worker('w', { replicas })).map(({ tone, label }) => [tone, label])).toEqual([
		['good', 'a accepts requests'],
		['wait', 'a accepts no new requests'],
		['bad', 'b makes no progress']
	]);
});

test('the time of a registration ends with the loss of the worker', () => {
	expect(registeredFor(worker('w'), 1_060_000)).toBe(60);
	expect(registeredFor(worker('w', { state: 'lost' }), 1_060_000)).toBeNull();
});

test('a drain of an operator and a loss are news, a shutdown is none', () => {
	expect(hasNews(worker('w', { drain: OPERATOR }))).toBe(true);
	expect(hasNews(worker('w', { state: 'lost', lost_at: 5 }))).toBe(true);
	expect(hasNews(worker('w', { drain: { cause: 'shutdown', actor: null, at: null } }))).toBe(false);
});

const WORKERS = [
	worker('gpu10', { host: 'host-b', gpus: [gpu('H200', { utilization: 0.1 })], replicas: [{ model: 'org/qwen', slots: 4, slots_used: 1 }] }),
	worker('gpu9', { gpus: [gpu('L4', { utilization: 0.7 })], replicas: [{ model: 'llama', slots: 8, slots_used: 3 }] }),
	worker('cpu0', { state: 'lost' })
];

function names(address: string): string[] {
	return rowsOf(WORKERS, viewOf(address, WORKER_TABLE), WORKER_TABLE).map(({ name }) => name);
}

test('workers are ordered by name as people count, by state with what is wrong first, and by use', () => {
	expect(names('')).toEqual(['cpu0', 'gpu9', 'gpu10']);
	expect(names('?sort=state')).toEqual(['cpu0', 'gpu10', 'gpu9']);
	expect(names('?sort=-utilization')).toEqual(['gpu9', 'gpu10', 'cpu0']);
	expect(names('?sort=-slots')).toEqual(['gpu9', 'gpu10', 'cpu0']);
});

test('a search finds workers by host, GPU and model, a filter by state', () => {
	expect(names('?q=host-b')).toEqual(['gpu10']);
	expect(names('?q=l4')).toEqual(['gpu9']);
	expect(names('?q=QWEN')).toEqual(['gpu10']);
	expect(names('?q=GPU-of-L4')).toEqual(['gpu9']);
	expect(names('?state=lost')).toEqual(['cpu0']);
});
