import { expect, test } from 'vitest';
import { beginEach, canBegin, effectOf, forEach, memoryOf, timeOf, type BulkEntry } from '../src/lib/services/bulk';

const LOAD = { operation: 'model-load', begins: true, problem: null, eta: 12, workers: ['gpu0', 'gpu1'], memory: { neededMB: 100 } };
const UNLOAD = { operation: 'model-unload', begins: true, problem: null, eta: null, freesMB: 40 };

function entry(plan: object | undefined, more: Partial<BulkEntry> = {}): BulkEntry {
	return { name: 'm', ...(plan && { plan }), ...more } as BulkEntry;
}

test('an action begins where its plan says so, and not twice', () => {
	expect(canBegin(entry(LOAD))).toBe(true);
	expect(canBegin(entry(undefined))).toBe(false);
	expect(canBegin(entry({ ...LOAD, begins: false }))).toBe(false);
	expect(canBegin(entry({ ...LOAD, problem: { message: 'no memory' } }))).toBe(false);
	expect(canBegin(entry(LOAD, { isBegun: true }))).toBe(false);
});

test('what happens to a model is a warning where it failed last as configured, and red where it is refused', () => {
	expect(effectOf(entry({ ...LOAD, lastError: null }))).toEqual({ words: 'Begins on gpu0, gpu1', tone: 'plain' });
	const failed = effectOf(entry({ ...LOAD, lastError: 'boom' }));
	expect(failed).toEqual({ words: 'Begins on gpu0, gpu1. Its last load with these settings failed: boom', tone: 'wait' });
	const refused = { words: 'Refused: no memory', tone: 'bad' };
	expect(effectOf(entry({ ...LOAD, lastError: 'boom', problem: { message: 'no memory' } }))).toEqual(refused);
	expect(effectOf(entry({ ...LOAD, lastError: 'boom', begins: false })).tone).toBe('plain');
	expect(effectOf(entry({ ...LOAD, lastError: 'boom' }, { isBegun: true }))).toEqual({ words: 'Begun', tone: 'plain' });
	expect(effectOf(entry({ ...UNLOAD, runningRequests: 1, waitingRequests: 0 })).words).toBe('1 running request finishes, 0 waiting fail');
});

test('a load needs the memory of all its replicas, and an unload frees what it took', () => {
	expect(memoryOf(entry(LOAD))).toBe(200);
	expect(memoryOf(entry({ ...LOAD, workers: [] }))).toBe(100);
	expect(memoryOf(entry({ ...LOAD, memory: { neededMB: null } }))).toBeNull();
	expect(memoryOf(entry(UNLOAD))).toBe(40);
	expect(memoryOf(entry(undefined))).toBeNull();
	expect([timeOf(entry(LOAD)), timeOf(entry(UNLOAD))]).toEqual([12, null]);
});

test('what cannot begin is not sent', async () => {
	const ended: BulkEntry[] = [];
	await beginEach('load', [entry({ ...LOAD, begins: false }), entry(undefined)], (one) => ended.push(one));
	expect(ended).toEqual([]);
});

test('an action on many is done once for each, with a few at once', async () => {
	const all = Array.from({ length: 20 }, (_, place) => place);
	const done: number[] = [];
	let running = 0;
	let most = 0;
	await forEach(all, async (one) => {
		running += 1;
		most = Math.max(most, running);
		await Promise.resolve();
		running -= 1;
		done.push(one);
	});
	expect(done.sort((one, other) => one - other)).toEqual(all);
	expect(most).toBe(4);
});
