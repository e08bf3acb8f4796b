/** What a table shows: the rows that are found, their order, the columns, and how all of this is written in the address. */

import { instantOf, TIMES } from '$lib/services/filter_values';

export interface Column<Row> {
	id: string;
	title: string;
	/** What rows are ordered by; null is no value. A column without it cannot be sorted. */
	value?: (row: Row) => string | number | null;
	/** Whether the largest values come first when the column is chosen. */
	isLargestFirst?: boolean;
	/** Numbers stand at the right, with equal digits. */
	isNumber?: boolean;
	/** `always`: it cannot be hidden; `chosen`: it is hidden until it is chosen. */
	shown?: 'always' | 'chosen';
	/** Where a phone shows it: the name and the action stand in the first line, facts in the second. Undefined: not at all. */
	card?: 'name' | 'fact' | 'action';
}

export interface Filter<Row> {
	/** Its name in the address. */
	id: string;
	title: string;
	/** The value of a row; undefined: the API filters, and the page has the fields. */
	of?: (row: Row) => string;
	/** The choices besides "all"; without them those of the rows, and an address may have any other. */
	options?: readonly Choice[];
}

export interface Choice {
	value: string;
	label: string;
}

/** What a table can do. The address may not have `q`, `sort` and `columns` as names of filters. */
export interface TableModel<Row> {
	columns: readonly Column<Row>[];
	filters: readonly Filter<Row>[];
	/** The texts in which a search looks. */
	searched: (row: Row) => readonly string[];
	key: (row: Row) => string;
	/** The column that orders the rows at first. */
	sort: string;
	isDescending?: boolean;
}

/** What a person has chosen. */
export interface View {
	search: string;
	sort: string;
	isDescending: boolean;
	filters: Readonly<Record<string, string>>;
	/** The ids of the columns, in the order of the table. */
	columns: readonly string[];
	/** The filters of an address whose values are none, so that nothing is filtered by them. */
	refused?: readonly RefusedFilter[];
}

export interface RefusedFilter {
	title: string;
	value: string;
}

const LONGEST = 256;

/** The view of an address (its part from `?` on). What the table does not know is left out; of filters it is in `refused`. */
export function viewOf<Row>(address: string, model: TableModel<Row>): View {
	const query = new URLSearchParams(address);
	const given = (name: string) => (query.get(name) ?? '').slice(0, LONGEST);
	const isDescending = given('sort').startsWith('-');
	const sort = given('sort').replace(/^-/, '');
	const isSortable = model.columns.some((column) => column.id === sort && column.value);
	const wanted = query.has('columns') ? given('columns').split('.') : undefined;
	const isValid = ({ id, options }: Filter<Row>) =>
		TIMES.includes(id) ? instantOf(given(id)) !== '' : (options?.some(({ value }) => value === given(id)) ?? true);
	const refused = model.filters.filter((filter) => given(filter.id) !== '' && !isValid(filter));
	return {
		search: given('q'),
		sort: isSortable ? sort : model.sort,
		isDescending: isSortable ? isDescending : (model.isDescending ?? false),
		filters: Object.fromEntries(model.filters.map((filter) => [filter.id, isValid(filter) ? given(filter.id) : ''])),
		columns: wanted ? shown(model, (column) => wanted.includes(column.id)) : defaultColumns(model),
		...(refused.length === 0 ? {} : { refused: refused.map(({ id, title }) => ({ title, value: given(id) })) })
	};
}

/** The query of a view, `?` included; empty for the first view. Parameters that are not the table's stay. */
export function queryOf<Row>(view: View, model: TableModel<Row>, before = ''): string {
	const query = new URLSearchParams(before);
	// the same view has the same address, in whichever order it was chosen
	const set = (name: string, value: string) => {
		query.delete(name);
		if (value) query.append(name, value);
	};
	const isFirst = view.sort === model.sort && view.isDescending === (model.isDescending ?? false);
	set('q', view.search.trim());
	set('sort', isFirst ? '' : `${view.isDescending ? '-' : ''}${view.sort}`);
	for (const { id } of model.filters) set(id, view.filters[id] ?? '');
	const columns = view.columns.join('.');
	set('columns', columns === defaultColumns(model).join('.') ? '' : columns);
	const text = query.toString();
	return text && `?${text}`;
}

/** The query of an address, `?` included, with another value of one parameter; without the parameter if it is undefined. */
export function withParameter(before: string, name: string, value: string | undefined): string {
	const query = new URLSearchParams(before);
	if (value === undefined) query.delete(name);
	else query.set(name, value);
	const text = query.toString();
	return text && `?${text}`;
}

export function defaultColumns<Row>(model: TableModel<Row>): string[] {
	return shown(model, (column) => column.shown !== 'chosen');
}

function shown<Row>(model: TableModel<Row>, isChosen: (column: Column<Row>) => boolean): string[] {
	return model.columns.filter((column) => column.shown === 'always' || isChosen(column)).map(({ id }) => id);
}

/** The view after a click on a column's heading: the other direction, or the column's own first one. */
export function sortedBy<Row>(view: View, column: Column<Row>): View {
	const isDescending = view.sort === column.id ? !view.isDescending : (column.isLargestFirst ?? false);
	return { ...view, sort: column.id, isDescending };
}

/** The view with a column shown or hidden. */
export function withColumn<Row>(view: View, model: TableModel<Row>, id: string, isShown: boolean): View {
	const columns = shown(model, (column) => (column.id === id ? isShown : view.columns.includes(column.id)));
	return { ...view, columns };
}

/** Whether something hides rows. */
export function isNarrowed(view: View): boolean {
	return view.search.trim() !== '' || Object.values(view.filters).some(Boolean);
}

/**
 * The choices of a filter, each with the number of its rows. Of a filter without fixed ones they are the values of the rows, those
 * that the page knows besides, and the present one.
 */
export function choicesOf<Row>(
	{ id, of, options }: Filter<Row>,
	rows: readonly Row[],
	view: View,
	known: readonly string[] = []
): (Choice & { count: number })[] {
	const counts = new Map<string, number>();
	for (const value of rows.map((row) => of?.(row) ?? '')) counts.set(value, (counts.get(value) ?? 0) + 1);
	const values = [...new Set([...counts.keys(), ...known, view.filters[id] ?? ''])].filter(Boolean).sort();
	const choices = options ?? values.map((value) => ({ value, label: value }));
	return choices.map((choice) => ({ ...choice, count: counts.get(choice.value) ?? 0 }));
}

/** The rows that a view shows, in its order. Each word of the search has to be in one of the row's texts. */
export function rowsOf<Row>(rows: readonly Row[], view: View, model: TableModel<Row>): Row[] {
	const words = view.search.toLowerCase().split(/\s+/).filter(Boolean);
	const filters = model.filters.filter(({ id }) => view.filters[id]);
	const found = rows.filter((row) => {
		if (!filters.every((filter) => filter.of === undefined || filter.of(row) === view.filters[filter.id])) return false;
		if (words.length === 0) return true;
		const texts = model.searched(row).map((text) => text.toLowerCase());
		return words.every((word) => texts.some((text) => text.includes(word)));
	});
	const value = model.columns.find(({ id }) => id === view.sort)?.value;
	if (!value) return found;
	const ranked = found.map((row) => ({ row, value: value(row), key: model.key(row) }));
	const byKey = (one: string, other: string) => (one < other ? -1 : 1);
	ranked.sort((one, other) => compared(one.value, other.value, view.isDescending) || byKey(one.key, other.key));
	return ranked.map(({ row }) => row);
}

/** No value comes last in both directions. */
function compared(one: string | number | null, other: string | number | null, isDescending: boolean): number {
	if (one === null || other === null) return Number(one === null) - Number(other === null);
	const order =
		typeof one === 'number' && typeof other === 'number'
			? one - other
			: String(one).localeCompare(String(other), 'en', { numeric: true, sensitivity: 'base' });
	return isDescending ? -order : order;
}

/** The selection with these keys, or without them. */
export function withSelected(selected: ReadonlySet<string>, keys: readonly string[], isSelected: boolean): ReadonlySet<string> {
	const others = [...selected].filter((key) => !keys.includes(key));
	return new Set(isSelected ? [...others, ...keys] : others);
}

/** The selected rows that still exist, in the order of the rows. */
export function stillThere<Row>(rows: readonly Row[], selected: ReadonlySet<string>, key: (row: Row) => string): Row[] {
	return rows.filter((row) => selected.has(key(row)));
}
