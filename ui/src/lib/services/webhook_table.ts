import type { TableModel } from '$lib/services/table';
import type { WebhookTarget } from '$lib/services/webhooks';
import { text } from '$lib/text';

const titles = text.webhooks.columns;

/** `fails`: the latest attempt failed; `unused`: there was none within 30 days. */
export function stateOf({ failing_since, delivered_at }: WebhookTarget): 'fails' | 'receives' | 'unused' {
	if (failing_since !== null) return 'fails';
	return delivered_at === null ? 'unused' : 'receives';
}

export const WEBHOOK_TABLE: TableModel<WebhookTarget> = {
	columns: [
		{ id: 'name', title: titles.name, value: ({ name }) => name, shown: 'always', card: 'name' },
		{ id: 'state', title: titles.state, value: stateOf, shown: 'always', card: 'fact' },
		{ id: 'waiting', title: titles.waiting, value: ({ waiting }) => waiting, isNumber: true, isLargestFirst: true, card: 'fact' },
		{ id: 'delivered', title: titles.delivered, value: ({ delivered_at }) => delivered_at, isLargestFirst: true, card: 'fact' },
		{ id: 'failed', title: titles.failed, value: ({ failed_at }) => failed_at, isLargestFirst: true, card: 'fact' },
		{ id: 'lost', title: titles.lost, value: ({ given_up, left_out }) => given_up + left_out, isNumber: true },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [],
	searched: ({ name, host }) => [name, host],
	key: ({ name }) => name,
	sort: 'name'
};
