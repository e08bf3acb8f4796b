import { isNews, type Alert } from '$lib/services/alerts';
import { number, percent, precise } from '$lib/services/format';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

const words = text.alerts;
const titles = words.columns;
const STATES = ['firing', 'pending', 'resolved', 'inactive', 'not_evaluated'] as const;
const SEVERITIES = ['critical', 'warning'] as const;

/** The place of a rule in the first order: what fires unacknowledged is first, critical before warning. */
function urgencyOf(alert: Alert): number {
	const state = STATES.indexOf(alert.state) + (alert.state !== 'firing' || isNews(alert) ? 0 : 0.5);
	return 2 * state + SEVERITIES.indexOf(alert.severity) / 2;
}

/** The value of a rule's first alert with its unit; null without one. */
export function valueOf({ value, unit }: Alert): string | null {
	if (value === null) return null;
	if (unit === 'share') return percent(value);
	const shown = value < 100 ? precise(value) : number(value);
	return unit === 'seconds' ? `${shown} s` : shown;
}

/** Whether a rule has alerts that need lines of their own. */
export function hasAlerts({ state }: { state: Alert['state'] }): boolean {
	return state === 'firing' || state === 'pending';
}

export const ALERT_TABLE: TableModel<Alert> = {
	columns: [
		{ id: 'name', title: titles.name, value: ({ name }) => name, shown: 'always', card: 'name' },
		{ id: 'state', title: titles.state, value: urgencyOf, shown: 'always', card: 'fact' },
		{ id: 'severity', title: titles.severity, value: ({ severity }) => SEVERITIES.indexOf(severity), card: 'fact' },
		{ id: 'since', title: titles.since, value: ({ since }) => since, isLargestFirst: true, card: 'fact' },
		{ id: 'value', title: titles.value, isNumber: true },
		{ id: 'by', title: titles.by, value: ({ acknowledgement }) => acknowledgement?.actor ?? null },
		{ id: 'condition', title: titles.condition, shown: 'chosen' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [
		{ id: 'state', title: titles.state, of: ({ state }) => state, options: STATES.map((value) => ({ value, label: words.states[value] })) },
		{
			id: 'severity',
			title: titles.severity,
			of: ({ severity }) => severity,
			options: SEVERITIES.map((value) => ({ value, label: words.severities[value] }))
		}
	],
	searched: ({ name, condition, instances, acknowledgement }) => [
		name,
		condition,
		...instances.map(({ summary }) => summary),
		acknowledgement?.note ?? ''
	],
	key: ({ name }) => name,
	sort: 'state'
};
