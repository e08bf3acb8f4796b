import { expect, test } from 'vitest';
import { ALERT_TABLE, valueOf } from '../src/lib/services/alert_table';
import { isLate, type Alert } from '../src/lib/services/alerts';
import { attentionOf, countAcknowledged, keyOf, problemsOf, type Attention } from '../src/lib/services/attention';
import { DOT, dotsOf, largest, lastKnown, latest, MARGIN, nearest, pathOf, roundTop, segments, sum, timeAt, timesOf, xOf, yOf } from '../src/lib/services/chart';
import { readingInWords, readingOf, valuesOf } from '../src/lib/services/chart_values';
import type { Model } from '../src/lib/services/feed_events';
import { choiceOf, chosenSubject, errorsOf, joined, queryOf, rangeOf, requestsQuery, subjectOf, type Sample } from '../src/lib/services/recent_metrics';
import { servedHereOnly, type Worker } from '../src/lib/services/workers';

const at = (time: number, value: number | null = 1) => ({ at: time, value });

test('a line has a gap where a value is unknown and where points are far apart', () => {
	const points = [at(0), at(10), at(20, null), at(30), at(100), at(110)];
	expect(segments(points, 16).map((part) => part.map((point) => point.at))).toEqual([[0, 10], [30], [100, 110]]);
});

const scale = { width: 100 + MARGIN.left + MARGIN.right, height: 50 + MARGIN.top + MARGIN.bottom, from: 0, to: 3_600, top: 50 };
const [left, low] = [MARGIN.left, 50 + MARGIN.top];

test('a path ends at the right, and the top of the scale is at the top', () => {
	expect(pathOf([at(0, 0), at(3_600, 50)], scale, 5_000)).toBe(`M${left} ${low}L${left + 100} ${MARGIN.top}`);
	expect(pathOf([], scale, 16)).toBe('');
	expect(yOf(70, scale)).toBe(MARGIN.top); // a value above a given top stays within the chart
	expect(timeAt(xOf(1_800, scale), scale)).toBe(1_800);
});

test('the points of a line that is too narrow to be seen are dots', () => {
	expect([pathOf([at(1_800, 25)], scale, 16), dotsOf([at(1_800, 25)], scale, 16)]).toEqual(['', `M${left + 50} ${low - 25}h0`]);
	const narrow = [at(0, 0), at(36, 50)]; // 36 s are 1 px
	expect(dotsOf([...narrow, at(1_800, null), at(1_836, 25)], scale, 40)).toBe(`M${left} ${low}h0M${left + 1} ${MARGIN.top}h0M${left + 51} ${low - 25}h0`);
	const wide = Array.from({ length: DOT + 1 }, (_, place) => at(36 * place));
	expect([dotsOf(wide, scale, 40), dotsOf([], scale, 40)]).toEqual(['', '']);
});

test('the top of an axis is round, and its times are round in local time', () => {
	expect([0, 0.3, 1, 4, 6, 12, 501].map(roundTop)).toEqual([1, 0.5, 1, 5, 10, 20, 1_000]);
	const utc = () => 0;
	expect(timesOf(1_000, 4_600, utc)).toEqual([1_800, 2_700, 3_600, 4_500]);
	expect(timesOf(0, 6 * 86_400, () => 3_600)[0]).toBe(82_800); // midnight an hour east
	expect(timesOf(0, 900, utc)).toEqual([0, 300, 600, 900]);
});

const HOUR = 3_600;
test.each([
	['forward', 1, 2],
	['back', 2, 1]
])('the times of an axis are round on both sides of a change of the clocks %s', (_way, before, after) => {
	const change = 73 * HOUR; // 2 or 3 o'clock of the fourth day
	const offsetAt = (at: number) => (at < change ? before : after) * HOUR;
	const localOf = (at: number) => (at + offsetAt(at)) / HOUR;
	expect(timesOf(0, 168 * HOUR, offsetAt).map(localOf)).toEqual([24, 48, 72, 96, 120, 144, 168]);
	expect(timesOf(60 * HOUR, 84 * HOUR, offsetAt).map((at) => localOf(at) % 6)).toEqual([0, 0, 0, 0]);
	const hours = timesOf(71 * HOUR, 76 * HOUR, offsetAt);
	expect(new Set(hours).size).toBe(hours.length); // a key of the drawing
	expect(hours.every((at) => Number.isInteger(localOf(at)))).toBe(true);
});

test('the nearest point of a time is found', () => {
	const points = [at(0), at(10), at(20)];
	expect([nearest(points, -5), nearest(points, 14), nearest(points, 16), nearest([], 1)]).toEqual([0, 1, 2, -1]);
});

test('an unknown range of an address is the usual one', () => {
	expect(['?range=7d', '', '?range=toString'].map(rangeOf)).toEqual(['7d', '1h', '1h']);
	expect([queryOf('6h', null, '?a=1&range=7d'), queryOf('1h', null, '?range=7d&model=x')]).toEqual(['?a=1&range=6h', '']);
});

test('the subject of the charts is in the address and in the choice', () => {
	const model = { kind: 'model', name: 'org/a b' } as const;
	expect(subjectOf(queryOf('1h', model, '?tenant=t'))).toEqual(model);
	expect([chosenSubject(choiceOf(model)), chosenSubject(choiceOf(null)), chosenSubject('x y')]).toEqual([model, null, null]);
	expect([subjectOf('?tenant=acme'), subjectOf('?model='), subjectOf('')]).toEqual([{ kind: 'tenant', name: 'acme' }, null, null]);
});

test('a code leads to its requests of the time of the samples, unless the history can have none', () => {
	const samples = [{ at: 1_000 }, { at: 1_010 }] as Sample[];
	expect(requestsQuery('queue_full', null, samples)).toBe('?code=queue_full&since=1970-01-01T00%3A16%3A30.000Z');
	expect(requestsQuery('queue_full', { kind: 'tenant', name: 'a b' }, samples.slice(0, 1))).toBe(
		'?tenant=a+b&code=queue_full&since=1970-01-01T00%3A16%3A40.000Z'
	);
	expect(requestsQuery('other', null, samples)).toBeUndefined();
	expect([requestsQuery('admin_required', null, samples), requestsQuery('queue_full', null, [])]).toEqual([undefined, undefined]);
});

test('errors are summed by code, the most frequent first', () => {
	const samples = [{ errors: { a: 1, c: 2 } }, { errors: {} }, { errors: { b: 2, c: 1 } }] as unknown as Sample[];
	expect(errorsOf(samples).map(({ code, count }) => `${code} ${count}`)).toEqual(['c 3', 'b 2', 'a 1']);
});

test('an old value is not the latest one', () => {
	expect([latest([at(100, 7)], 105, 20), latest([at(100, 7)], 200, 20), latest([], 1, 20)]).toEqual([at(100, 7), undefined, undefined]);
	expect([lastKnown([at(1, 0), at(2, null)]), lastKnown([at(1, null)])]).toEqual([at(1, 0), undefined]);
	expect(largest([at(1, null), at(2, 3)])).toBe(3);
	expect([sum([at(1, null), at(2, 3), at(3, 4)]), sum([])]).toEqual([7, 0]);
});

test('a value of requests is unknown after a gap only, and else missing since no request ended or none had it', () => {
	const measured = { queue_wait_p95_ms: null, output_tokens_per_s: null, gpu_utilization: null, memory_used_mib: 0 };
	const samples = [null, 0, 0.5].map((requests_per_s) => ({ ...measured, at: 10, requests_per_s })) as Sample[];
	const none = (measure: 'queue_wait_p95_ms' | 'output_tokens_per_s' | 'gpu_utilization') => valuesOf(samples, measure).map((point) => point.none);
	expect(none('queue_wait_p95_ms')).toEqual([undefined, 'no requests', '–']);
	expect(none('output_tokens_per_s')).toEqual([undefined, undefined, undefined]);
	expect(none('gpu_utilization')).toEqual([undefined, '–', '–']); // of a model that is not loaded
	expect(valuesOf([{ ...samples[1], queue_wait_p95_ms: 9 } as Sample], 'queue_wait_p95_ms')).toEqual([{ at: 10, value: 9, none: undefined }]);
});

test('a latest value that is missing has the last known one with its age, and a chosen one has not', () => {
	const of = (points: Parameters<typeof readingOf>[0]['points'], now: number, place = -1, isCount = false) =>
		readingInWords(readingOf({ label: 'Median', points }, { place, now, longest: 20, isCount, format: (value) => `${value} ms` }));
	const idle = { at: 90, value: null, none: 'no requests' };
	expect(of([at(20, 9), at(30, 5), idle], 95)).toBe('Median: latest no requests, last 5 ms (1 min 5 s ago), at most 9 ms');
	expect(of([at(20, 9), at(30, 5), idle], 95, 2)).toBe('Median: latest no requests, at most 9 ms');
	expect(of([idle], 95)).toBe('Median: latest no requests');
	expect([of([at(30, 5)], 95), of([], 95)]).toEqual(['Median: latest unknown, last 5 ms (1 min 5 s ago), at most 5 ms', 'Median: latest unknown']);
	expect([of([at(20, 9), at(30, 5), at(90, null)], 95, -1, true), of([at(90, null)], 95, -1, true)]).toEqual([
		'Median: 14 ms in all, at most 9 ms',
		'Median: latest unknown'
	]);
});

test('new samples join earlier ones, each once and within the span', () => {
	const sample = (time: number) => ({ at: time }) as Sample;
	const times = joined([sample(5), sample(3_000), sample(3_010)], [sample(3_010), sample(3_020)], 10);
	expect(times.map((one) => one.at)).toEqual([3_000, 3_010, 3_020]);
});

const replica = (model: string, ready: boolean) => ({ model, ready, state: 'up', slots_used: 1 });
const worker = (name: string, replicas: unknown[], drain: unknown = null, state = 'live') =>
	({ name, replicas, drain, state, lost_at: state === 'lost' ? 9 : null }) as unknown as Worker;
const model = (name: string, fields: Partial<Model>) =>
	({ name, runtime_state: 'loaded', loaded_replicas: 1, replicas: 1, last_error: null, restart_at: null, ...fields }) as Model;

test('what needs an operator is listed by urgency', () => {
	const found = attentionOf(
		[
			model('good', {}),
			model('bad', { runtime_state: 'failed', last_error: 'why' }),
			model('short', { loaded_replicas: 1, replicas: 2 })
		],
		[worker('gone', [], null, 'lost'), worker('w1', [replica('good', false)], { cause: 'operator', actor: 'ops' })],
		2
	);
	expect(found.map(({ kind }) => kind)).toEqual(['failed', 'missing', 'lost', 'proposals', 'drained']);
	expect(attentionOf([model('good', {})], [worker('w1', [])], 0)).toEqual([]);
});

test('the replica of a drained worker is not missing', () => {
	const drained = worker('w1', [replica('pair', false)], { cause: 'operator', actor: 'ops' });
	const kinds = attentionOf([model('pair', { loaded_replicas: 1, replicas: 2 })], [drained], 0).map(({ kind }) => kind);
	expect(kinds).toEqual(['drained']);
});

test('a model with a ready replica elsewhere is not served here only', () => {
	const here = worker('w1', [replica('a', true), replica('b', true), replica('b', true)]);
	expect(servedHereOnly(here, [here, worker('w2', [replica('a', true), replica('b', false)])])).toEqual(['b']);
});

const alert = (name: string, fields: Partial<Alert>, ...instances: { model?: string; acknowledged?: boolean }[]) =>
	({
		name,
		severity: 'warning',
		state: 'firing',
		acknowledged: false,
		acknowledgement: null,
		acknowledged_at: null,
		instances: instances.map(({ model: of, acknowledged = false }) => ({
			labels: of === undefined ? {} : { model: of },
			state: 'firing',
			acknowledged,
			summary: `${name} of ${of}`
		})),
		...fields
	}) as unknown as Alert;

test('alerts that fire unacknowledged need an operator, critical ones first', () => {
	const alerts = [
		alert('Slow', {}, { model: 'a', acknowledged: true }, { model: 'b' }, { model: 'c' }),
		alert('Known', { acknowledged: true }, { model: 'a', acknowledged: true }),
		alert('Soon', { state: 'pending' }),
		alert('Gone', { severity: 'critical' }, {})
	];
	expect(attentionOf([], [], 0, alerts)).toEqual([
		{ kind: 'alert', severity: 'critical', alert: 'Gone', summary: 'Gone of undefined', more: 0 },
		{ kind: 'alert', severity: 'warning', alert: 'Slow', summary: 'Slow of b', more: 1 }
	]);
});

test('a failed model and a lost worker are listed once, and not after an acknowledgement', () => {
	const models = [model('a', { runtime_state: 'failed' }), model('b', { runtime_state: 'failed' })];
	const lost = [worker('w', [], null, 'lost')];
	const failed = (acknowledged: boolean) => alert('StokerModelFailed', {}, { model: 'a', acknowledged }, { model: 'b' });
	const gone = (at: number) => alert('StokerWorkersLost', { state: 'resolved', acknowledged_at: at }, {});
	const kinds = (...alerts: Alert[]) => attentionOf(models, lost, 0, alerts).map((one) => ('model' in one ? one.model : one.kind));
	expect(kinds(failed(false), alert('StokerWorkersLost', {}, {}))).toEqual(['a', 'b', 'lost']);
	expect(kinds(failed(true), gone(8))).toEqual(['b', 'lost']); // it was lost at 9
	expect(kinds(failed(true), gone(10))).toEqual(['b']);
});

test('an alert that fires has an acknowledgement at the model and the worker that it is about, and is an item without them', () => {
	const alerts = [alert('StokerModelFailed', {}, { model: 'a' }), alert('StokerWorkersLost', {}, {})];
	const models = [model('a', { runtime_state: 'failed', operation_id: 'load_1' }), model('b', { runtime_state: 'failed', operation_id: 'unload_2' })];
	const rules = attentionOf(models, [worker('w', [], null, 'lost')], 0, alerts).map((one) => ('alert' in one ? one.alert : undefined));
	expect(rules).toEqual(['StokerModelFailed', null, 'StokerWorkersLost']);
	expect(attentionOf([], [], 0, alerts).map((one) => ('alert' in one ? `${one.kind} ${one.alert}` : ''))).toEqual(['alert StokerModelFailed', 'alert StokerWorkersLost']);
	expect(attentionOf(models, [], 0).map((one) => ('load' in one ? one.load : undefined))).toEqual(['load_1', null]);
});

test('the first order of the alerts is their urgency, and values have their units', () => {
	const order = ALERT_TABLE.columns.find(({ id }) => id === 'state')?.value;
	const rows = [
		alert('calm', { state: 'inactive' }),
		alert('known', { acknowledged: true, severity: 'critical' }),
		alert('warm', {}),
		alert('hot', { severity: 'critical' }),
		alert('soon', { state: 'pending', severity: 'critical' })
	];
	const sorted = rows.toSorted((one, other) => Number(order?.(one)) - Number(order?.(other)));
	expect(sorted.map(({ name }) => name)).toEqual(['hot', 'warm', 'known', 'soon', 'calm']);
	const values = [{ value: 0.5, unit: 'share' }, { value: 31.5, unit: 'seconds' }, { value: 10_001, unit: 'number' }, { value: null }] as const;
	expect(values.map((fields) => valueOf(alert('x', fields)))).toEqual(['50 %', '31.5 s', '10,001', null]);
});

test('each item that needs an operator has a key of its own, which stays when others come', () => {
	const alerts = [alert('Slow', {}, { model: 'a' }), alert('Gone', { severity: 'critical' }, {})];
	const models = [model('a', { runtime_state: 'failed' }), model('b', { replicas: 2 })];
	const workers = [worker('a', [], null, 'lost'), worker('w1', [], { cause: 'operator', actor: 'ops' })];
	const keys = attentionOf(models, workers, 1, alerts).map(keyOf);
	expect(keys).toEqual(['alert Gone', 'alert Slow', 'failed a', 'missing b', 'lost a', 'proposals ', 'drained w1']);
	expect(attentionOf(models, [], 0).map(keyOf)).toEqual(['failed a', 'missing b']);
});

test('nothing is known to need an operator while a source of it cannot be read', () => {
	const live = { value: [], state: 'live' as const };
	const items: Attention[] = [{ kind: 'proposals', count: 1 }];
	expect(problemsOf([], [live, live])).toBe(0);
	expect(problemsOf([], [live, { state: 'loading' }])).toBe('reading');
	expect(problemsOf([], [live, { state: 'stale' }])).toBe('unknown');
	expect(problemsOf([], [live, { value: [], state: 'stale' }])).toBe('unknown');
	expect(problemsOf([], [{ state: 'refused' }])).toBe('unknown');
	expect(problemsOf(items, [live, { state: 'stale' }])).toBe(1);
	expect(problemsOf([], [{ value: [], state: 'loading' }])).toBe('unknown'); // the feed begins again
});

test('an evaluation is late after a minute, and if there was none', () => {
	const late = (evaluated_at: number | null, now: number) => isLate({ evaluated_at, now });
	expect([late(1_000, 1_060), late(1_000, 1_061), late(null, 1_000)]).toEqual([false, true, true]);
});

test('what was acknowledged is counted once', () => {
	const models = [model('a', { runtime_state: 'failed' }), model('b', { runtime_state: 'failed' }), model('c', {})];
	const workers = [worker('w', [], null, 'lost'), worker('v', [])];
	const alerts = [
		alert('StokerModelFailed', {}, { model: 'a', acknowledged: true }, { model: 'b' }, { model: 'c', acknowledged: true }),
		alert('StokerWorkersLost', { acknowledged: true, acknowledged_at: 10 }, { acknowledged: true }),
		alert('Slow', { acknowledged: true }, { model: 'a', acknowledged: true }, { model: 'b', acknowledged: true })
	];
	expect(countAcknowledged(models, workers, alerts)).toBe(4); // a, w and two that are slow
	expect(attentionOf(models, workers, 0, alerts).map(keyOf)).toEqual(['failed b']);
	expect(countAcknowledged(models, workers, [])).toBe(0);
});
