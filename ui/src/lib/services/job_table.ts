import type { Job } from '$lib/services/jobs';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

const words = text.queue;
const titles = words.columns;

/** Running jobs come first, those that run longest before the others; then the waiting ones by their places. */
export function placeOf({ status, position, runMs }: Job): number | null {
	return status === 'running' ? -(runMs ?? 0) : position;
}

export const JOB_TABLE: TableModel<Job> = {
	columns: [
		{ id: 'job', title: titles.job, value: ({ id }) => id, shown: 'always', card: 'name' },
		{ id: 'model', title: titles.model, value: ({ model }) => model, card: 'fact' },
		{ id: 'tenant', title: titles.tenant, value: ({ tenant }) => tenant, card: 'fact' },
		{ id: 'priority', title: titles.priority, value: ({ priority }) => Object.keys(words.priorities).indexOf(priority) },
		{ id: 'status', title: titles.status, value: ({ status }) => status, card: 'fact' },
		{ id: 'position', title: titles.position, value: placeOf, card: 'fact' },
		{ id: 'waited', title: titles.waited, value: ({ waitedMs }) => waitedMs, isLargestFirst: true, card: 'fact' },
		{ id: 'tokens', title: titles.tokens, value: ({ tokens }) => tokens, isLargestFirst: true, isNumber: true },
		{ id: 'speed', title: titles.speed, value: ({ tokensPerSecond }) => tokensPerSecond, isLargestFirst: true, isNumber: true },
		{ id: 'ran', title: words.ran, value: ({ runMs }) => runMs, isLargestFirst: true, isNumber: true },
		{ id: 'worker', title: titles.worker, value: ({ worker }) => worker },
		{ id: 'replica', title: titles.replica, value: ({ replica }) => replica, shown: 'chosen' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [
		{ id: 'model', title: titles.model, of: ({ model }) => model },
		{ id: 'tenant', title: titles.tenant, of: ({ tenant }) => tenant },
		{
			id: 'status',
			title: titles.status,
			of: ({ status }) => status,
			options: [
				{ value: 'running', label: words.statuses.running },
				{ value: 'queued', label: words.statuses.queued }
			]
		}
	],
	searched: ({ id, model, tenant, worker }) => [id, model, tenant, worker ?? ''],
	key: ({ id }) => id,
	sort: 'position'
};
