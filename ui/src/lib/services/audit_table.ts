import type { AuditRecord } from '$lib/services/audit_record';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

const words = text.audit;

/** The API has the order, the newest first, and the filters: it reads the records in pages. */
export const AUDIT_TABLE: TableModel<AuditRecord> = {
	columns: [
		{ id: 'number', title: words.number, isNumber: true, shown: 'always', card: 'name' },
		{ id: 'time', title: words.time, card: 'fact' },
		{ id: 'actor', title: words.actor, card: 'fact' },
		{ id: 'authority', title: words.authority },
		{ id: 'action', title: words.action, card: 'fact' },
		{ id: 'subject', title: words.subject, card: 'fact' },
		{ id: 'outcome', title: words.outcome, card: 'action' },
		{ id: 'detail', title: words.detail, card: 'fact' }
	],
	filters: [
		{ id: 'subject', title: words.subject },
		{ id: 'actor', title: words.actor },
		{ id: 'authority', title: words.authority },
		{ id: 'action', title: words.action },
		{
			id: 'outcome',
			title: words.outcome,
			options: Object.entries(words.outcomes).map(([value, label]) => ({ value, label }))
		},
		{ id: 'since', title: words.since },
		{ id: 'until', title: words.until }
	],
	searched: () => [],
	key: ({ number }) => String(number),
	sort: 'number',
	isDescending: true
};
