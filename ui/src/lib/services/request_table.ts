import type { EndedRequest } from '$lib/services/requests';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

const words = text.requests;
const titles = words.columns;

/** The API has the order, the latest end first, and the filters: it reads the history in pages. */
export const REQUEST_TABLE: TableModel<EndedRequest> = {
	columns: [
		{ id: 'request', title: titles.request, shown: 'always', card: 'name' },
		{ id: 'time', title: titles.time, card: 'fact' },
		{ id: 'tenant', title: titles.tenant, card: 'fact' },
		{ id: 'model', title: titles.model, card: 'fact' },
		{ id: 'api', title: titles.api },
		{ id: 'status', title: titles.status, card: 'action' },
		{ id: 'total', title: titles.total, isNumber: true, card: 'fact' },
		{ id: 'waited', title: titles.waited, isNumber: true },
		{ id: 'load', title: titles.load, isNumber: true, shown: 'chosen' },
		{ id: 'first', title: titles.first, isNumber: true },
		{ id: 'input', title: titles.input, isNumber: true },
		{ id: 'cached', title: titles.cached, isNumber: true },
		{ id: 'output', title: titles.output, isNumber: true },
		{ id: 'dispatches', title: titles.dispatches, isNumber: true },
		{ id: 'worker', title: titles.worker, shown: 'chosen' },
		{ id: 'priority', title: titles.priority, shown: 'chosen' },
		{ id: 'agent', title: titles.agent, shown: 'chosen' }
	],
	filters: [
		{ id: 'tenant', title: titles.tenant },
		{ id: 'model', title: titles.model },
		{ id: 'status', title: titles.status, options: Object.entries(words.statuses).map(([value, label]) => ({ value, label })) },
		{ id: 'code', title: titles.code },
		{ id: 'since', title: words.since },
		{ id: 'until', title: words.until }
	],
	searched: () => [],
	key: ({ id }) => id,
	sort: 'time',
	isDescending: true
};

const SMALL = 10_000;

/** A time as people compare it: `120 ms`, `8.3 s`, from ten seconds on whole ones. */
export function shortTime(milliseconds: number): string {
	if (milliseconds < 1_000) return words.milliseconds(String(Math.round(milliseconds)));
	return words.seconds(milliseconds < SMALL ? (milliseconds / 1000).toFixed(1) : Math.round(milliseconds / 1000).toLocaleString('en-GB'));
}
