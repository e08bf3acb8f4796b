/* Words of tables, which all lists share. */

import { grouped } from './numbers';

export const table = {
	search: 'Search',
	searchIn: (label: string) => `Search in ${label}`,
	showMore: (count: number) => `Show all ${grouped(count)}`,
	some: (shown: number, found: number) => `${grouped(shown)} of ${grouped(found)}`,
	someOfFirst: (shown: number, found: number) => `${grouped(shown)} of the first ${grouped(found)}`,
	all: (title: string) => `${title}: all`,
	counted: (label: string, count: number) => `${label} (${count})`,
	count: (shown: number, all: number) => (shown === all ? grouped(all) : `${grouped(shown)} of ${grouped(all)}`),
	refused: (title: string, value: string) => `“${value}” in the address is no value of the filter “${title}”, so nothing is filtered by it.`,
	showAll: 'Show all',
	columns: 'Columns',
	sort: 'Order',
	ascending: (title: string) => `${title} ▲`,
	descending: (title: string) => `${title} ▼`,
	notFound: 'No row fits the search and the filters.',
	/** Why a row is grey that keeps its place. */
	strays: {
		hidden: 'It does not fit any more, and leaves the list when the pointer and the focus do.',
		gone: 'It is not there any more, and leaves the list when the pointer and the focus do.'
	},
	select: (name: string) => `Select ${name}`,
	selectAll: 'Select all that are shown',
	selected: (count: number) => `${count} selected`,
	clear: 'Select none',
	/** The filters of the API, for a list of which the page has a part. */
	form: { label: 'Filter', any: 'any', apply: 'Show', clear: 'Clear' },
	pages: { newest: 'Newest', newer: 'Newer', older: 'Older' }
};
