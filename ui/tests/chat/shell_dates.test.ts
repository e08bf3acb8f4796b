import { expect, test } from 'vitest';
import { groupByDate, nextMidnight } from '$lib/services/chat/dates';

const NOW = new Date(2026, 2, 30, 10, 0).getTime();

function at(...parts: [number, number, number, number?, number?]): { changedAt: number } {
	return { changedAt: new Date(...(parts as [number, number, number])).getTime() };
}

test('conversations are grouped by days, then by months, the latest first', () => {
	const groups = groupByDate(
		[
			at(2025, 11, 24, 8),
			at(2026, 2, 30, 0, 0),
			at(2026, 2, 29, 23, 59),
			at(2026, 2, 23, 0),
			at(2026, 2, 22, 23),
			at(2026, 1, 27),
			at(2026, 0, 31),
			at(2026, 0, 1),
			{ changedAt: NOW + 86_400_000 }
		],
		NOW
	);
	expect(groups.map(({ kind, entries }) => [kind, entries.length])).toEqual([
		['today', 2],
		['yesterday', 1],
		['week', 1],
		['days30', 1],
		['month', 1],
		['month', 2],
		['month', 1]
	]);
	expect(new Set(groups.map(({ key }) => key)).size).toBe(groups.length);
});

test('the groups change at the next midnight', () => {
	expect(nextMidnight(NOW)).toBe(new Date(2026, 2, 31).getTime());
});
