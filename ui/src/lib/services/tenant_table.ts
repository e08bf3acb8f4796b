import type { TableModel } from '$lib/services/table';
import { isLimited, type TenantRow } from '$lib/services/tenants';
import { text } from '$lib/text';

const words = text.tenants;
const titles = words.columns;

export const TENANT_TABLE: TableModel<TenantRow> = {
	columns: [
		{ id: 'name', title: titles.name, value: ({ tenant }) => tenant.name, shown: 'always', card: 'name' },
		{ id: 'weight', title: titles.weight, value: ({ tenant }) => tenant.weight, isLargestFirst: true },
		{ id: 'refused', title: titles.refused, value: ({ refused }) => refused.recent * 1e9 + refused.hour, isLargestFirst: true, card: 'fact' },
		{ id: 'rates', title: titles.rates, card: 'fact' },
		{ id: 'running', title: titles.running, value: ({ use }) => use?.running.used ?? null, isLargestFirst: true },
		{ id: 'waiting', title: titles.waiting, value: ({ use }) => use?.waiting.all_models ?? null, isLargestFirst: true },
		{ id: 'bytes', title: titles.bytes, value: ({ use }) => use?.bytes.used ?? null, isLargestFirst: true },
		{ id: 'keys', title: titles.keys, value: ({ tenant }) => tenant.keys, isLargestFirst: true, card: 'fact' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [
		{
			id: 'limits',
			title: words.limits,
			of: (row) => (isLimited(row) ? 'reached' : ''),
			options: [{ value: 'reached', label: words.limited }]
		}
	],
	searched: ({ tenant }) => [tenant.name],
	key: ({ tenant }) => tenant.name,
	sort: 'name'
};
