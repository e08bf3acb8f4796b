import { expect, test } from 'vitest';
import { afterEvent, beginning, EMPTY, isLater, MOST_CHANGES, type FeedState } from '../src/lib/services/feed_events';

const model = (name: string, queue_depth = 0) => ({ data: { type: 'model', model: { name, queue_depth } }, id: undefined });
const memory = (id?: string) => ({ data: { type: 'gpu_memory', gpu_memory: { gpus: [] } }, id });
const change = (id: string) => ({ data: { type: 'state', id, model: 'a', to: 'loaded' }, id });

function after(state: FeedState, ...events: { data: unknown; id: string | undefined }[]): FeedState {
	return events.reduce(afterEvent, state);
}

const names = (state: FeedState) => state.models.map(({ name }) => name);

test('a model takes the place of its earlier row, in the order of names', () => {
	const state = after(beginning(EMPTY), model('b'), model('c'), model('a'), memory(), model('b', 3));
	expect(state.models.map(({ name, queue_depth }) => [name, queue_depth])).toEqual([
		['a', 0],
		['b', 3],
		['c', 0]
	]);
});

test('a model is removed by its event, and by a new connection that does not send it', () => {
	const state = after(beginning(EMPTY), model('a'), model('b'), model('c'), memory());
	expect(names(after(state, { data: { type: 'model_removed', name: 'b' }, id: undefined }))).toEqual(['a', 'c']);
	const again = after(beginning(state), model('a'));
	expect(names(again)).toEqual(['a', 'b', 'c']); // not known yet
	expect(names(after(again, memory()))).toEqual(['a']);
	expect(names(after(again, memory(), memory()))).toEqual(['a']);
});

test('a change counts once, and the next connection continues after the last one', () => {
	const state = after(EMPTY, memory('5-0'), change('7-0'), change('7-1'), change('7-0'), change('5-0'));
	expect(state.changes.map(({ id }) => id)).toEqual(['7-1', '7-0']);
	expect(state.after).toBe('7-1');
	expect(after(EMPTY, memory('5-0')).after).toBe('5-0');
	expect(after(state, memory('6-0')).after).toBe('7-1');
});

test('the changes and the operations that are remembered are bounded', () => {
	let state: FeedState = EMPTY;
	for (let at = 1; at <= MOST_CHANGES + 50; at += 1) {
		state = after(state, change(`${at}-0`), {
			data: { type: 'operation', operation: { id: `load_${at}` } },
			id: undefined
		});
	}
	expect(state.changes.length).toBe(MOST_CHANGES);
	expect(state.changes[0]?.id).toBe(`${MOST_CHANGES + 50}-0`);
	expect(Object.keys(state.operations).length).toBe(200);
	expect(state.operations[`load_${MOST_CHANGES + 50}`]).toBeDefined();
});

test('ids are compared as two numbers', () => {
	expect(isLater('10-0', '9-99')).toBe(true);
	expect(isLater('9-10', '9-9')).toBe(true);
	expect(isLater('9-9', '9-9')).toBe(false);
	expect(isLater('18446744073709551615-1', '18446744073709551615-0')).toBe(true);
});

test('an event of another type changes nothing', () => {
	expect(afterEvent(EMPTY, { data: { type: 'later', x: 1 }, id: '9-9' })).toBe(EMPTY);
});
