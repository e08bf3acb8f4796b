import type { QueuedModel, QueuedTenant } from '$lib/services/jobs';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

const titles = text.queue.columns;

/** The queue of a model, or the share of a tenant in it. */
export interface QueueRow {
	queue: QueuedModel;
	/** Null: the row of the whole queue. */
	tenant: QueuedTenant | null;
}

/** The rows of the queues with work: each queue, followed by those of its tenants. */
export function queueRows(queues: readonly QueuedModel[]): QueueRow[] {
	return queues
		.filter(({ queueDepth, running }) => queueDepth > 0 || running > 0)
		.flatMap((queue) => [{ queue, tenant: null }, ...queue.tenants.map((tenant) => ({ queue, tenant }))]);
}

/** No column sorts: the row of a queue would leave those of its tenants. */
export const QUEUE_TABLE: TableModel<QueueRow> = {
	columns: [
		{ id: 'model', title: titles.model, shown: 'always', card: 'name' },
		{ id: 'tenant', title: titles.tenant, card: 'fact' },
		{ id: 'running', title: titles.running, isNumber: true, card: 'fact' },
		{ id: 'waiting', title: titles.waiting, isNumber: true, card: 'fact' },
		{ id: 'high', title: text.queue.priorities.high, isNumber: true },
		{ id: 'normal', title: text.queue.priorities.normal, isNumber: true },
		{ id: 'low', title: text.queue.priorities.low, isNumber: true },
		{ id: 'oldest', title: titles.oldest, isNumber: true, card: 'fact' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [],
	searched: ({ queue, tenant }) => [queue.model, tenant?.tenant ?? ''],
	key: ({ queue, tenant }) => JSON.stringify([queue.model, tenant?.tenant ?? null]),
	sort: 'model'
};
