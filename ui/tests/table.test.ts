import { expect, test } from 'vitest';
import {
	choicesOf,
	isNarrowed,
	queryOf,
	rowsOf,
	sortedBy,
	stillThere,
	viewOf,
	withColumn,
	withSelected,
	type Column,
	type Filter,
	type TableModel,
	type View
} from '../src/lib/services/table';

interface Row {
	name: string;
	state: 'up' | 'down';
	speed: number | null;
	file?: string;
}

const MODEL: TableModel<Row> = {
	columns: [
		{ id: 'name', title: 'Name', value: ({ name }) => name, shown: 'always' },
		{ id: 'speed', title: 'Speed', value: ({ speed }) => speed, isLargestFirst: true },
		{ id: 'file', title: 'File', shown: 'chosen' },
		{ id: 'actions', title: 'Actions', shown: 'always' }
	],
	filters: [
		{
			id: 'state',
			title: 'State',
			of: ({ state }) => state,
			options: [
				{ value: 'up', label: 'up' },
				{ value: 'down', label: 'down' }
			]
		}
	],
	searched: ({ name, file }) => [name, file ?? ''],
	key: ({ name }) => name,
	sort: 'name'
};
const ROWS: Row[] = [
	{ name: 'model-10', state: 'up', speed: 3 },
	{ name: 'model-9', state: 'down', speed: null, file: '/Models/Qwen3.gguf' },
	{ name: 'Zeta', state: 'up', speed: 12 },
	{ name: 'alpha', state: 'down', speed: 3 }
];
const FIRST = viewOf('', MODEL);

function names(view: Partial<View>, rows: readonly Row[] = ROWS): string[] {
	return rowsOf(rows, { ...FIRST, ...view }, MODEL).map(({ name }) => name);
}

test('rows are ordered by name as people count, without regard to capitals', () => {
	expect(names({})).toEqual(['alpha', 'model-9', 'model-10', 'Zeta']);
	expect(names({ isDescending: true })).toEqual(['Zeta', 'model-10', 'model-9', 'alpha']);
});

test('rows without a value come last in both directions, and equal ones by their key', () => {
	expect(names({ sort: 'speed' })).toEqual(['alpha', 'model-10', 'Zeta', 'model-9']);
	expect(names({ sort: 'speed', isDescending: true })).toEqual(['Zeta', 'alpha', 'model-10', 'model-9']);
});

test('each word of a search has to be in one of the texts of a row', () => {
	expect(names({ search: ' MODEL ' })).toEqual(['model-9', 'model-10']);
	expect(names({ search: 'qwen model' })).toEqual(['model-9']);
	expect(names({ search: 'qwen zeta' })).toEqual([]);
});

test('filters and the search narrow together', () => {
	expect(names({ filters: { state: 'up' } })).toEqual(['model-10', 'Zeta']);
	expect(names({ filters: { state: 'up' }, search: 'zeta' })).toEqual(['Zeta']);
	expect(isNarrowed(FIRST)).toBe(false);
	expect(isNarrowed({ ...FIRST, search: '  ' })).toBe(false);
	expect(isNarrowed({ ...FIRST, filters: { state: 'up' } })).toBe(true);
});

test('a view is the same after it was written to an address and read again', () => {
	const views: View[] = [
		FIRST,
		{ ...FIRST, search: 'a & b=c ?#' },
		{ ...FIRST, sort: 'speed', isDescending: true, filters: { state: 'down' } },
		{ ...FIRST, isDescending: true, columns: ['name', 'file', 'actions'] },
		{ ...FIRST, columns: ['name', 'actions'] }
	];
	for (const view of views) expect(viewOf(queryOf(view, MODEL), MODEL)).toEqual({ ...view, filters: { state: '', ...view.filters } });
	expect(queryOf(FIRST, MODEL)).toBe('');
	expect(queryOf({ ...FIRST, sort: 'speed', isDescending: true, filters: { state: 'up' } }, MODEL)).toBe('?sort=-speed&state=up');
	expect(queryOf({ ...FIRST, sort: 'speed', filters: { state: 'up' } }, MODEL, '?state=down&q=x')).toBe('?sort=speed&state=up');
});

test('other parameters of the address stay, and those of the table go when the view is the first one again', () => {
	expect(queryOf(FIRST, MODEL, '?name=x&sort=-speed&q=old&state=up')).toBe('?name=x');
});

test('a filter of an address without a valid value is refused, and nothing is filtered by it', () => {
	const filters = [...MODEL.filters, { id: 'since', title: 'Since' }];
	const model = { ...MODEL, filters };
	const view = viewOf('?state=broken&since=bogus', model);
	expect(view.filters).toMatchObject({ state: '', since: '' });
	expect(view.refused).toEqual([
		{ title: filters[0]?.title, value: 'broken' },
		{ title: 'Since', value: 'bogus' }
	]);
	expect(viewOf('?state=up&since=2026-01-01T00:00:00Z', model).refused).toBeUndefined();
	expect(queryOf(view, model, '?state=broken&since=bogus')).toBe('');
});

test('what a table does not know is left out of the view of an address', () => {
	const view = viewOf('?sort=-actions&state=broken&columns=file.nothing&q=' + 'x'.repeat(1_000), MODEL);
	expect(view.sort).toBe('name');
	expect(view.isDescending).toBe(false);
	expect(view.filters).toEqual({ state: '' });
	expect(view.columns).toEqual(['name', 'file', 'actions']);
	expect(view.search).toHaveLength(256);
});

test('a filter without fixed choices has those of the rows, of the page and of the address', () => {
	const free = { id: 'name', title: 'Name', of: ({ name }: Row) => name };
	const model = { ...MODEL, filters: [free] };
	const view = viewOf('?name=away', model);
	expect(view.filters).toEqual({ name: 'away' });
	expect(rowsOf(ROWS, view, model)).toEqual([]);
	const choices = choicesOf(free, [...ROWS.slice(2), { name: 'Zeta', state: 'up', speed: 1 }], view, ['known']);
	expect(choices.map(({ label, count }) => `${label} ${count}`)).toEqual(['Zeta 2', 'alpha 1', 'away 0', 'known 0']);
	const [fixed] = MODEL.filters as [Filter<Row>];
	expect(choicesOf(fixed, ROWS, FIRST).map(({ count }) => count)).toEqual([2, 2]);
});

test('a heading sorts in its own first direction, then in the other one', () => {
	const [name, speed] = MODEL.columns as [Column<Row>, Column<Row>];
	const bySpeed = sortedBy(FIRST, speed);
	expect(bySpeed).toMatchObject({ sort: 'speed', isDescending: true });
	expect(sortedBy(bySpeed, speed)).toMatchObject({ sort: 'speed', isDescending: false });
	expect(sortedBy(bySpeed, name)).toMatchObject({ sort: 'name', isDescending: false });
});

test('a column that is shown has its place in the table, and one that is always shown stays', () => {
	const more = withColumn(FIRST, MODEL, 'file', true);
	expect(more.columns).toEqual(['name', 'speed', 'file', 'actions']);
	expect(withColumn(more, MODEL, 'speed', false).columns).toEqual(['name', 'file', 'actions']);
	expect(withColumn(FIRST, MODEL, 'name', false).columns).toEqual(FIRST.columns);
});

test('a selection has the rows that still exist', () => {
	const selected = withSelected(new Set(['Zeta']), ['alpha', 'gone'], true);
	expect(stillThere(ROWS, selected, MODEL.key).map(({ name }) => name)).toEqual(['Zeta', 'alpha']);
	expect([...withSelected(selected, ['alpha', 'Zeta'], false)]).toEqual(['gone']);
});
