import { expect, test } from 'vitest';
import { freeRows, heldRows, MOST_STRAYS, type HeldRows } from '../src/lib/services/held_rows';

interface Row {
	name: string;
	state: string;
}
const row = (name: string, state = 'loaded'): Row => ({ name, state });
const rows = (...names: string[]): Row[] => names.map((name) => row(name));
const key = ({ name }: Row) => name;
const shown = (held: HeldRows<Row>) => held.rows.map(({ name, state }) => `${name} ${state} ${held.strays.get(name) ?? ''}`.trim());

test('rows keep their places with their new states, and new ones come at the end', () => {
	const now = [row('new'), row('b', 'failed'), row('a')];
	expect(shown(heldRows(rows('a', 'b'), now, now, key))).toEqual(['a loaded', 'b failed', 'new loaded']);
});

test('a row that does not fit any more keeps its place as it is now, and one that is gone as it was', () => {
	const fitting = rows('c');
	const all = [row('a', 'unloaded'), ...fitting];
	const held = heldRows(rows('a', 'b', 'c'), fitting, all, key);
	expect(shown(held)).toEqual(['a unloaded hidden', 'b loaded gone', 'c loaded']);
	expect(shown(heldRows(held.rows, rows('a', 'c'), rows('a', 'c'), key))).toEqual(['a loaded', 'b loaded gone', 'c loaded']);
});

test('the last row that fits stays when a filter hides it', () => {
	expect(shown(heldRows(rows('a'), [], [row('a', 'unloaded')], key))).toEqual(['a unloaded hidden']);
});

test('no row stays of a list of which nothing is left, such as another page', () => {
	const now = rows('c', 'd');
	expect(shown(heldRows(rows('a', 'b'), now, now, key))).toEqual(['c loaded', 'd loaded']);
	expect(shown(heldRows(rows('a'), [], [], key))).toEqual([]);
});

test('the rows that stay without fitting are bounded, and the earliest leave', () => {
	const before = rows(...Array.from({ length: MOST_STRAYS + 2 }, (_, place) => `job-${place}`), 'stays');
	const held = heldRows(before, rows('stays'), rows('stays'), key);
	expect(held.strays.size).toBe(MOST_STRAYS);
	expect(held.rows.map(key).slice(0, 1)).toEqual(['job-2']);
	expect(held.rows.at(-1)).toEqual(row('stays'));
});

test('rows that are not held have no strays, and an update makes no other empty map', () => {
	expect(freeRows(rows('a')).strays).toBe(heldRows(rows('a'), rows('a'), rows('a'), key).strays);
});
