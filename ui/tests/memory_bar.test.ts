import { expect, test } from 'vitest';
import type { LoadPlan } from '../src/lib/services/load_calls';
import { barInWords, barsOf, MOST_BARS, needInWords, shortOf, WIDTH, type Bar, type PartKind } from '../src/lib/services/memory_bar';

type Device = LoadPlan['memory']['devices'][number];

const DEVICE: Device = {
	worker: 'gpu0',
	totalMB: 24_000,
	freeMB: 14_000,
	promisedMB: 0,
	freedByEvictionMB: 0,
	neededMB: 8000,
	eligible: true
};

function plan(device: Partial<Device>, changes: Record<string, unknown> = {}, memory: Partial<LoadPlan['memory']> = {}): LoadPlan {
	return {
		problem: null,
		workers: ['gpu0'],
		...changes,
		memory: {
			neededMB: 8000,
			weightsMB: 5000,
			kvCacheMB: 2500,
			otherMB: 500,
			source: 'model_artifact_size',
			devices: [{ ...DEVICE, ...device }],
			...memory
		}
	} as unknown as LoadPlan;
}

function only(of: LoadPlan): Bar {
	const [bar] = barsOf(of).bars;
	if (!bar) throw new Error('there is no bar');
	return bar;
}

function sizes(bar: Bar): Partial<Record<PartKind, number>> {
	return Object.fromEntries(bar.parts.map(({ kind, mib }) => [kind, mib]));
}

test('the parts of a load that fits fill the bar from the left, without gaps, to the whole memory', () => {
	const bar = only(plan({}));
	expect(bar.verdict).toBe('fits');
	expect(sizes(bar)).toEqual({ used: 10_000, weights: 5000, cache: 2500, other: 500, free: 6000 });
	let at = 0;
	for (const part of bar.parts) {
		expect(part.x).toBeCloseTo(at, 1);
		at = part.x + part.width;
	}
	expect(at).toBeCloseTo(WIDTH, 1);
	expect(bar.end).toBe(WIDTH);
});

test('the need of a replica has its source, unless it is unknown', () => {
	expect(needInWords({ neededMB: 8192, source: 'observed_load_delta' })).toBe('8.0 GiB (measured at the last load)');
	expect(needInWords({ neededMB: null, source: 'unavailable' })).toBe('unknown');
});

test('a larger cache moves the bar', () => {
	const larger = only(plan({ neededMB: 9000 }, {}, { neededMB: 9000, kvCacheMB: 3500 }));
	expect(sizes(larger)).toEqual({ used: 10_000, weights: 5000, cache: 3500, other: 500, free: 5000 });
});

test('two replicas on one device take twice the parts', () => {
	const bar = only(plan({ neededMB: 16_000, freeMB: 20_000 }));
	expect(sizes(bar)).toEqual({ used: 4000, weights: 10_000, cache: 5000, other: 1000, free: 4000 });
});

test('what an eviction frees is no longer used, and lies below what takes it', () => {
	const bar = only(plan({ freeMB: 4000, freedByEvictionMB: 12_000 }, { evicts: { modelId: 'other' } }));
	expect(bar.verdict).toBe('evicts');
	expect(shortOf(bar)).toBe('gpu0: fits once other is unloaded, this load 7.8 GiB, stays free 7.8 GiB');
	expect(sizes(bar)).toEqual({ used: 8000, weights: 5000, cache: 2500, other: 500, free: 8000, freed: 12_000 });
	const freed = bar.parts.find(({ kind }) => kind === 'freed');
	expect(freed?.x).toBeCloseTo((8000 / 24_000) * WIDTH, 0);
});

test('a load that is too large is drawn beyond the memory, with what is lacking', () => {
	const refused = { problem: { code: 'insufficient_memory', message: '', param: null }, workers: [] };
	const bar = only(plan({ freeMB: 2000, neededMB: 0 }, refused));
	expect(bar.verdict).toBe('too_large');
	expect(sizes(bar)).toMatchObject({ used: 22_000, weights: 5000, lacking: 6000 });
	expect(sizes(bar)).not.toHaveProperty('free');
	expect(bar.end).toBeCloseTo((24_000 / 30_000) * WIDTH, 0);
	expect(Math.max(...bar.parts.map(({ x, width }) => x + width))).toBeCloseTo(WIDTH, 1);
	expect(barInWords(bar)).toContain('too large');
	expect(barInWords(bar)).toContain('lacking 5.9 GiB');
	expect(shortOf(bar)).toBe('gpu0: too large for the memory, this load 7.8 GiB, lacking 5.9 GiB');
});

test('a device that is promised to another load has less', () => {
	const bar = only(plan({ promisedMB: 4000 }));
	expect(sizes(bar)).toMatchObject({ used: 10_000, promised: 4000, free: 2000 });
});

test('a need without parts is one part, and an unknown need none', () => {
	expect(sizes(only(plan({}, {}, { weightsMB: null })))).toEqual({ used: 10_000, needed: 8000, free: 6000 });
	const unknown = only(plan({ neededMB: null }, {}, { neededMB: null, weightsMB: null }));
	expect([unknown.verdict, sizes(unknown)]).toEqual(['unknown', { used: 10_000, free: 14_000 }]);
});

test('devices that the load does not use come after those that it uses, and many are not shown', () => {
	const devices = [
		{ ...DEVICE, worker: 'cpu', eligible: false, neededMB: 0 },
		...Array.from({ length: 8 }, (_, at) => ({ ...DEVICE, worker: `gpu${at}`, neededMB: at === 5 ? 8000 : 0, freeMB: 1000 + at }))
	];
	const { bars, left } = barsOf(plan({}, {}, { devices }));
	expect([bars.length, left]).toEqual([MOST_BARS, 9 - MOST_BARS]);
	expect(bars.map(({ worker }) => worker).slice(0, 3)).toEqual(['gpu5', 'gpu7', 'gpu6']);
	const [, ...others] = bars;
	expect(new Set(others.map(({ verdict }) => verdict))).toEqual(new Set(['unused']));
	expect(only(plan({ eligible: false, neededMB: 0 })).verdict).toBe('ineligible');
});

test('the sentence of a bar has each number', () => {
	expect(barInWords(only(plan({})))).toBe(
		'gpu0: fits into the memory. used by others 9.8 GiB, weights 4.9 GiB, KV cache 2.4 GiB, buffers and libraries 500 MiB, stays free 5.9 GiB, of 23.4 GiB in all.'
	);
});
