import { expect, test } from 'vitest';
import { JOB_TABLE } from '../src/lib/services/job_table';
import { countOf, idIn, jobsByTenant, type Job, type QueuedModel } from '../src/lib/services/jobs';
import { QUEUE_TABLE, queueRows } from '../src/lib/services/queue_table';
import { rowsOf, viewOf } from '../src/lib/services/table';

function job(id: string, fields: Partial<Job>): Job {
	return { id, model: 'm', tenant: 'acme', status: 'queued', position: null, runMs: null, worker: null, ...fields } as Job;
}

test('running jobs come first, the longest run before the others, then the waiting ones by their places', () => {
	const jobs = [
		job('c', { position: 12 }),
		job('unknown', {}),
		job('b', { position: 2 }),
		job('new', { status: 'running', runMs: 10 }),
		job('old', { status: 'running', runMs: 5_000 })
	];
	const shown = rowsOf(jobs, viewOf('', JOB_TABLE), JOB_TABLE).map(({ id }) => id);
	expect(shown).toEqual(['old', 'new', 'b', 'c', 'unknown']);
});

test('the jobs of a selection are counted by tenant, the most first', () => {
	const jobs = ['b', 'a', 'c', 'c'].map((tenant, place) => job(String(place), { tenant }));
	expect(jobsByTenant(jobs)).toBe('c 2, a 1, b 1');
});

test('each queue with work is followed by its tenants, each row with a key of its own', () => {
	const queue = (model: string, queueDepth: number, tenants: string[]) =>
		({ model, queueDepth, running: 0, tenants: tenants.map((tenant) => ({ tenant })) }) as QueuedModel;
	const rows = queueRows([queue('b', 2, ['umbrella', 'acme']), queue('idle', 0, []), queue('a', 1, ['acme'])]);
	const shown = rowsOf(rows, viewOf('?sort=waiting', QUEUE_TABLE), QUEUE_TABLE);
	expect(shown.map(({ queue, tenant }) => [queue.model, tenant?.tenant])).toEqual([
		['b', undefined],
		['b', 'umbrella'],
		['b', 'acme'],
		['a', undefined],
		['a', 'acme']
	]);
	expect(new Set(rows.map(QUEUE_TABLE.key)).size).toBe(5);
});

test('a search that is the whole id of a job asks for it, and no other search does', () => {
	const hex = '0123456789abcdef'.repeat(2);
	for (const id of [`resp_${hex}`, `chatcmpl-${hex}`, `ollamagen-${hex}`, `wf_${hex}`, `cmpl-${hex}-3`]) expect(idIn(` ${id} `)).toBe(id);
	for (const search of ['', 'acme', `resp_${hex.slice(1)}`, hex, `resp_${hex} acme`, `../${hex}`, 'resp_']) expect(idIn(search)).toBeUndefined();
});

test('the jobs of a filter are counted by the queues', () => {
	const tenants = [
		{ tenant: 'acme', queueDepth: 900, running: 3 },
		{ tenant: 'umbrella', queueDepth: 101, running: 1 }
	];
	const queues = [
		{ model: 'a', queueDepth: 1_001, running: 4, tenants },
		{ model: 'b', queueDepth: 2, running: 1, tenants: [{ tenant: 'acme', queueDepth: 2, running: 1 }] }
	] as QueuedModel[];
	expect(countOf(queues, {})).toBe(1_008);
	expect(countOf(queues, { model: 'a' })).toBe(1_005);
	expect(countOf(queues, { tenant: 'acme' })).toBe(906);
	expect(countOf(queues, { tenant: 'acme', model: 'a', status: 'queued' })).toBe(900);
	expect(countOf(queues, { model: 'b', status: 'running' })).toBe(1);
	expect(countOf(queues, { model: 'none' })).toBe(0);
});
