import type { Key } from '$lib/services/keys';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

const titles = text.keys.columns;

/** A key that was never used is the least recently used one; one that never expires is the last to expire. */
export const KEY_TABLE: TableModel<Key> = {
	columns: [
		{ id: 'label', title: titles.label, value: ({ label }) => label, shown: 'always', card: 'name' },
		{ id: 'tenant', title: titles.tenant, value: ({ tenant }) => tenant, card: 'fact' },
		{ id: 'hint', title: titles.hint, card: 'fact' },
		{ id: 'scopes', title: titles.scopes, value: ({ scopes }) => scopes.join(', ') },
		{ id: 'models', title: titles.models },
		{ id: 'created', title: titles.created, value: (key) => key.created_at ?? 0, isLargestFirst: true },
		{ id: 'used', title: titles.used, value: (key) => key.last_used_at ?? 0, card: 'fact' },
		{ id: 'expires', title: titles.expires, value: (key) => key.expires_at ?? Infinity, card: 'fact' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [],
	searched: ({ label, tenant, hint, id }) => [label, tenant, hint, id],
	key: ({ id }) => id,
	sort: 'tenant'
};

/** The keys of one tenant, who sees them and changes none. */
export const OWN_KEY_TABLE: TableModel<Key> = {
	...KEY_TABLE,
	columns: KEY_TABLE.columns.filter(({ id }) => id !== 'tenant' && id !== 'actions'),
	sort: 'label'
};
