import { afterEach, expect, test, vi } from 'vitest';

vi.mock('$app/paths', () => ({ base: '/ui' }));
const { exportedLines } = await import('../src/lib/services/audit');
const { givenFilters, instantOf, localTime, placeOf } = await import('../src/lib/services/filter_values');

const LINE = new TextEncoder().encode('{"number":1}\n');

afterEach(() => vi.unstubAllGlobals());

/** An answer that sends a line whenever it is read, and never ends; `cancelled` counts. */
function endless(): { answer: Response; cancelled: () => number } {
	let count = 0;
	const body = new ReadableStream<Uint8Array>({
		pull: (controller) => controller.enqueue(LINE),
		cancel: () => void (count += 1)
	});
	return { answer: new Response(body), cancelled: () => count };
}

test('the rest of an export is not read after its reader has ended early', async () => {
	const { answer, cancelled } = endless();
	vi.stubGlobal('fetch', () => Promise.resolve(answer));
	for await (const lines of exportedLines({}, new AbortController().signal)) {
		expect(lines).toHaveLength(1);
		break;
	}
	expect(cancelled()).toBe(1);
});

test('a lost connection is a problem and nothing else', async () => {
	const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new TypeError('lost')) });
	vi.stubGlobal('fetch', () => Promise.resolve(new Response(body)));
	await expect(exportedLines({}, new AbortController().signal).next()).rejects.toMatchObject({ code: 'unreachable' });
});

test('a filter without a value, and a time that is none, is left out', () => {
	const until = '2026-11-28T10:00:00.000Z';
	expect(givenFilters({ subject: 'stub', actor: '', since: 'soon', until })).toEqual({ subject: 'stub', until });
});

test('a time of a field and its instant are the same time', () => {
	expect(instantOf(localTime('2026-11-28T10:00:05.000Z'))).toBe('2026-11-28T10:00:05.000Z');
	expect([localTime('soon'), instantOf('')]).toEqual(['', '']);
});

test('the page of a list is in the address, and an empty or missing one is the first page', () => {
	expect(placeOf('?actor=alice&after=120')).toBe('120');
	expect([placeOf('?after='), placeOf('?actor=alice'), placeOf('')]).toEqual([undefined, undefined, undefined]);
	expect(placeOf(`?after=${'9'.repeat(300)}`)).toHaveLength(256);
});
