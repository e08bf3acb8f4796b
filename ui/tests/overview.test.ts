import { expect, test } from 'vitest';
import { attentionOf } from '../src/lib/services/attention';
import { largest, latest, pathOf, segments } from '../src/lib/services/chart';
import type { Model } from '../src/lib/services/feed_events';
import { joined, type Sample } from '../src/lib/services/recent_metrics';
import { servedHereOnly, type Worker } from '../src/lib/services/workers';

const at = (time: number, value: number | null = 1) => ({ at: time, value });

test('a line has a gap where a value is unknown and where points are far apart', () => {
	const points = [at(0), at(10), at(20, null), at(30), at(100), at(110)];
	expect(segments(points, 16).map((part) => part.map((point) => point.at))).toEqual([[0, 10], [30], [100, 110]]);
});

test('a path ends at the right, and its largest value is at the top', () => {
	expect(pathOf([at(0, 0), at(3_600, 50)], 3_600, 50, 5_000)).toBe('M0 59L300 1');
	expect(pathOf([at(3_590, 25)], 3_600, 50, 16)).toBe('M299.2 30h1');
	expect(pathOf([], 3_600, 0, 16)).toBe('');
	expect(pathOf([at(0, 0)], 0, 0, 16)).toBe('M300 59h1');
});

test('an old value is not the latest one', () => {
	expect([latest([at(100, 7)], 105, 20), latest([at(100, 7)], 200, 20), latest([], 1, 20)]).toEqual([7, null, null]);
	expect(largest([at(1, null), at(2, 3)])).toBe(3);
});

test('new samples join earlier ones, each once and for an hour', () => {
	const sample = (time: number) => ({ at: time }) as Sample;
	const times = joined([sample(5), sample(3_000), sample(3_010)], [sample(3_010), sample(3_020)], 3_610);
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
