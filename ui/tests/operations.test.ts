import { expect, test } from 'vitest';
import { flowerTask } from '../src/lib/services/flower';
import { bodyOf } from '../src/lib/services/flush';
import { hasNews, OPERATION_TABLE } from '../src/lib/services/operation_table';
import {
	additionQuery,
	isCancellable,
	isRepeatable,
	later,
	matches,
	merged,
	requestOf,
	type Operation
} from '../src/lib/services/operations';
import { rowsOf, viewOf } from '../src/lib/services/table';

function operation(id: string, fields: Partial<Operation> = {}): Operation {
	return {
		id,
		object: 'operation',
		kind: 'load',
		model: 'org/m',
		scope: null,
		status: 'running',
		stage: '',
		progress: 0.5,
		eta_s: null,
		result: null,
		error: null,
		error_code: null,
		evicts: null,
		source: null,
		load_override: null,
		replicas: 1,
		restores: false,
		task_ids: [id],
		requested_by: null,
		duration_s: null,
		created_at: 10,
		finished_at: null,
		...fields
	};
}

const ended = { status: 'completed', progress: 1 } as const;

test('of two states of an operation the later one counts', () => {
	const early = operation('load_1', { progress: 0.2 });
	const late = operation('load_1', { progress: 0.4 });
	const end = operation('load_1', ended);
	const pending = operation('load_1', { status: 'pending', progress: 0 });
	for (const [one, other, expected] of [
		[early, late, late],
		[late, early, late],
		[end, late, end],
		[late, end, end],
		[pending, early, early],
		[early, pending, early]
	] as const) {
		expect(later(one, other)).toBe(expected);
	}
});

test('a list has what was read and what has begun since, the newest first', () => {
	const read = [operation('load_2', { created_at: 20 }), operation('load_1', { created_at: 10 })];
	const feed = {
		load_3: operation('load_3', { created_at: 30 }),
		load_2: operation('load_2', { created_at: 20, ...ended }),
		load_0: operation('load_0', { created_at: 5 })
	};
	const shown = merged(read, feed, {});
	expect(shown.map(({ id, status }) => [id, status])).toEqual([
		['load_3', 'running'],
		['load_2', 'completed'],
		['load_1', 'running']
	]);
	expect(merged(read, feed, { status: 'open' }).map(({ id }) => id)).toEqual(['load_3', 'load_1']);
});

test('a filter leaves operations of a kind, a model and a status', () => {
	const one = operation('load_1');
	expect(matches(one, { kind: 'load', model: 'org/m', status: 'open' })).toBe(true);
	expect(matches(one, { kind: 'flush' })).toBe(false);
	expect(matches(one, { model: 'org' })).toBe(false);
	expect(matches(operation('load_1', ended), { status: 'open' })).toBe(false);
	expect(matches(operation('load_1', ended), { status: 'completed' })).toBe(true);
});

test('the table has operations under way first, then the others, the newest first', () => {
	const all = [
		operation('ended_late', { created_at: 40, ...ended }),
		operation('open_early', { created_at: 10 }),
		operation('ended_early', { created_at: 20, ...ended }),
		operation('open_late', { created_at: 30, status: 'pending' })
	];
	const shown = (address: string) => rowsOf(all, viewOf(address, OPERATION_TABLE), OPERATION_TABLE).map(({ id }) => id);
	expect(shown('')).toEqual(['open_late', 'open_early', 'ended_late', 'ended_early']);
	expect(shown('?status=open')).toEqual(['open_late', 'open_early']);
	expect(shown('?status=completed&q=early')).toEqual(['ended_early']);
});

test('an operation under way, and one that failed, has a line of its own', () => {
	expect([operation('a'), operation('b', { error: 'no memory', ...ended }), operation('c', ended)].map(hasNews)).toEqual([
		true,
		true,
		false
	]);
});

test('an operation is begun again with its parameters', () => {
	const load = operation('load_1', { load_override: { gguf_type_k: null }, replicas: 2, evicts: 'other' });
	expect(requestOf(load)).toEqual({
		path: '/v1/admin/models/org/m/load',
		body: { gguf_type_k: null, replicas: 2, evictModel: 'other' }
	});
	const restored = operation('load_1', { load_override: {}, replicas: 1, restores: true });
	expect(requestOf(restored).body).toEqual({});
	expect(requestOf(operation('unload_1', { kind: 'unload' }))).toEqual({
		path: '/v1/admin/models/org/m/unload',
		body: undefined
	});
	const scope = { kind: 'tag', model: null, tenant: 'acme', tag: 'x' } as const;
	expect(requestOf(operation('flush_1', { kind: 'flush', model: null, scope }))).toEqual({
		path: '/v1/admin/cache/flush',
		body: { scope: 'tag', tenant: 'acme', tag: 'x' }
	});
});

test('a task has an address in Flower where the browser can reach it', () => {
	expect(flowerTask('http://127.0.0.1:5555', 'load_1.1', '127.0.0.1')).toBe('http://127.0.0.1:5555/task/load_1.1');
	expect(flowerTask('https://flower.example/ui/', 'load_1', 'stoker.example')).toBe('https://flower.example/ui/task/load_1');
	expect(flowerTask('http://127.0.0.1:5555', 'load_1', 'stoker.example')).toBeUndefined();
	expect(flowerTask('javascript:alert(1)', 'load_1', '127.0.0.1')).toBeUndefined();
	expect(flowerTask(null, 'load_1', '127.0.0.1')).toBeUndefined();
});

test('the body of a flush has the fields of its scope only', () => {
	const values = { model: 'm', tenant: ' acme ', tag: 'x' };
	expect(bodyOf('all', values)).toEqual({ scope: 'all' });
	expect(bodyOf('model', values)).toEqual({ scope: 'model', model: 'm' });
	expect(bodyOf('tag', values)).toEqual({ scope: 'tag', tenant: 'acme', tag: 'x' });
});

test('a download is cancelled while it is under way, and continued after it ended without a model', () => {
	const source = 'hf://a/b@c/m.gguf hf://a/b@c/mmproj.gguf';
	const running = operation('download_1', { kind: 'download', source });
	expect([isCancellable(running), isRepeatable(running), additionQuery(running)]).toEqual([true, false, undefined]);
	for (const status of ['failed', 'cancelled'] as const) {
		const over = { ...running, status };
		expect([isCancellable(over), isRepeatable(over)]).toEqual([false, false]);
		expect(additionQuery(over)).toBe('?source=hf%3A%2F%2Fa%2Fb%40c%2Fm.gguf&name=org%2Fm');
	}
	expect(additionQuery({ ...running, status: 'completed' })).toBeUndefined();
	expect(isRepeatable(operation('remove_1', { kind: 'remove', status: 'completed' }))).toBe(false);
	expect(isRepeatable(operation('load_1', { status: 'failed' }))).toBe(true);
});
