/** The list of conversations by the day of their last change, in the browser's time zone. */

/** `month`: the first day of the month is in `month` of the group. */
export type DateGroupKind = 'today' | 'yesterday' | 'week' | 'days30' | 'month';

export interface DateGroup<T> {
	/** Unique in the list. */
	key: string;
	kind: DateGroupKind;
	/** Of the kind `month`: a time in it, in ms. */
	month: number | null;
	entries: T[];
}

/**
 * Group entries by the day of their last change (ms): today, yesterday, the 7 and the 30 days before now, then months. The
 * latest comes first. A time after now, as of a wrong clock, is of today.
 */
export function groupByDate<T extends { changedAt: number }>(entries: readonly T[], now: number): DateGroup<T>[] {
	const groups = new Map<string, DateGroup<T>>();
	const sorted = [...entries].sort((one, other) => other.changedAt - one.changedAt);
	for (const entry of sorted) {
		const kind = kindOf(entry.changedAt, now);
		const month = kind === 'month' ? startOfMonth(entry.changedAt) : null;
		const key = month === null ? kind : `month-${month}`;
		const group = groups.get(key) ?? { key, kind, month, entries: [] };
		group.entries.push(entry);
		groups.set(key, group);
	}
	return [...groups.values()];
}

function kindOf(time: number, now: number): DateGroupKind {
	if (time >= daysBefore(now, 0)) return 'today';
	if (time >= daysBefore(now, 1)) return 'yesterday';
	if (time >= daysBefore(now, 7)) return 'week';
	if (time >= daysBefore(now, 30)) return 'days30';
	return 'month';
}

/** Midnight at the begin of the day that was `days` days ago: by the calendar, as a day may have 23 or 25 hours. */
function daysBefore(now: number, days: number): number {
	const day = new Date(now);
	return new Date(day.getFullYear(), day.getMonth(), day.getDate() - days).getTime();
}

function startOfMonth(time: number): number {
	const day = new Date(time);
	return new Date(day.getFullYear(), day.getMonth(), 1).getTime();
}

/** The next midnight, at which the groups change. */
export function nextMidnight(now: number): number {
	return daysBefore(now, -1);
}
