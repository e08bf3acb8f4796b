import { expect, test } from 'vitest';
import type { EndedRequest } from '../src/lib/services/requests';

const { phasesOf, speedOf, textRows } = await import('../src/lib/services/requests');
const { REQUEST_TABLE, shortTime } = await import('../src/lib/services/request_table');
const { queryOf, viewOf } = await import('../src/lib/services/table');

function request(values: Partial<EndedRequest>): EndedRequest {
	const times = { totalMs: 10_400, waitedMs: 8_300, loadMs: 8_100, firstTokenMs: 120, runMs: 2_100 };
	return { id: 'resp_1', tokens: null, ...times, ...values } as EndedRequest;
}

test('the parts of the time follow each other and are the whole', () => {
	expect(phasesOf(request({}))).toEqual([
		{ name: 'load', from: 0, length: 8_100 },
		{ name: 'queue', from: 8_100, length: 200 },
		{ name: 'prompt', from: 8_300, length: 120 },
		{ name: 'answer', from: 8_420, length: 1_980 }
	]);
});

test('a part without a length is left out', () => {
	const quick = request({ loadMs: null, waitedMs: 0, totalMs: 500, firstTokenMs: 500, runMs: 500 });
	expect(phasesOf(quick)).toEqual([{ name: 'prompt', from: 0, length: 500 }]);
});

test('a request that failed without a token has a run, one that waited to its end has none, a refused one has no time', () => {
	const failed = request({ loadMs: null, waitedMs: 100, totalMs: 400, firstTokenMs: null, runMs: 300 });
	expect(phasesOf(failed)).toEqual([
		{ name: 'queue', from: 0, length: 100 },
		{ name: 'run', from: 100, length: 300 }
	]);
	const waited = request({ loadMs: null, waitedMs: 400, totalMs: 400, firstTokenMs: null, runMs: null });
	expect(phasesOf(waited)).toEqual([{ name: 'queue', from: 0, length: 400 }]);
	expect(phasesOf(request({ totalMs: null, waitedMs: null }))).toEqual([]);
});

test('the speed is that of the tokens behind the first one', () => {
	const tokens = { input: 40, output: 100, cached: 0, reasoning: 0, audioMs: 0, images: 0 };
	expect(speedOf(request({ tokens }))).toBe(50);
	expect(speedOf(request({ tokens: { ...tokens, output: 1 } }))).toBeNull();
	expect(speedOf(request({ tokens, firstTokenMs: null }))).toBeNull();
});

test('a text that is cut off has a title that tells it, and one that is empty has words', () => {
	const rows = textRows({ prompt: { text: '<b>Hi</b>', isCut: true }, answer: { text: '', isCut: false } });
	expect(rows).toEqual([
		{ title: 'Prompt (its beginning is cut off)', value: '<b>Hi</b>' },
		{ title: 'Answer', value: 'no text' }
	]);
	expect(textRows({ prompt: { text: 'x', isCut: false }, answer: { text: 'y', isCut: true } }).map((row) => row.title)).toEqual([
		'Prompt',
		'Answer (its end is cut off)'
	]);
});

test('short times have the digits that people compare', () => {
	expect([0, 120, 999, 1_000, 8_349, 12_600, 3_600_000].map(shortTime)).toEqual([
		'0 ms',
		'120 ms',
		'999 ms',
		'1.0 s',
		'8.3 s',
		'13 s',
		'3,600 s'
	]);
});

test('the address has the filters and keeps the request that is shown', () => {
	const view = viewOf('?tenant=acme&status=failed&status=x&code=queue_full&since=2026-11-28T10:00:00Z', REQUEST_TABLE);
	expect(view.filters).toEqual({ tenant: 'acme', model: '', status: 'failed', code: 'queue_full', since: '2026-11-28T10:00:00Z', until: '' });
	expect(viewOf('?status=running', REQUEST_TABLE).filters.status).toBe('');
	const shown = { ...view, filters: { model: 'stub' } };
	expect(queryOf(shown, REQUEST_TABLE, '?request=resp_1&tenant=acme')).toBe('?request=resp_1&model=stub');
});
