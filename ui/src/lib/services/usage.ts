import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type UsageRow = components['schemas']['UsageRow'];
export type UsageReport = components['schemas']['UsageReport'];
export const MEASURES = ['output_tokens', 'input_tokens', 'requests', 'gpu_ms', 'audio_seconds', 'images', 'pixel_steps'] as const;
export type Measure = (typeof MEASURES)[number];
export type Split = 'tenant' | 'model';

/** A report as far as bars need it: its rows may be by tenant, model or key. */
interface DailyReport<Row> {
	first_day: string;
	last_day: string;
	data: readonly Row[];
}
type DailyRow = Record<Measure, number> & { day?: string };

/** What is asked for; '' is all. */
export interface UsageQuery {
	days: number;
	tenant: string;
	model: string;
}

const DAY_MS = 86_400_000;

/** The first and the last of some days (UTC), of which the last is that of `now`. */
export function daysUntil(now: Date, days: number): { from: string; to: string } {
	const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
	return { from: dayOf(now.getTime() - (days - 1) * DAY_MS), to: dayOf(now.getTime()) };
}

/** The parameters of a query whose last day is that of `now` (UTC). */
export function parametersOf(query: UsageQuery, now: Date): { from: string; to: string; tenant?: string; model?: string } {
	return {
		...daysUntil(now, query.days),
		...(query.tenant && { tenant: query.tenant }),
		...(query.model && { model: query.model })
	};
}

/** Raises `ApiProblem`. */
export async function readUsage(query: UsageQuery, now: Date): Promise<UsageReport> {
	// the answer has two forms, and without `format` it is JSON
	return (await call(api.GET('/v1/admin/usage', { params: { query: parametersOf(query, now) } }))) as UsageReport;
}

/** The CSV; a link could not send the header that the API asks a page for. Raises `ApiProblem`. */
export async function readCsv(query: UsageQuery, now: Date): Promise<Blob> {
	const parameters = { ...parametersOf(query, now), format: 'csv' as const };
	const pending = api.GET('/v1/admin/usage', { params: { query: parameters }, parseAs: 'blob' });
	return (await call(pending)) as unknown as Blob;
}

export interface Bar {
	day: string;
	total: number;
	/** The amount of each series, in their order. */
	parts: number[];
}
export interface Bars {
	/** The names of the series, the largest first. */
	series: string[];
	/** Whether the last series is the sum of all further names. */
	hasRest: boolean;
	days: Bar[];
	/** The largest total of a day. */
	highest: number;
}

/** The bars of a report: one for each day, those without usage too, with at most `most` series, which `nameOf` names. */
export function barsOf<Row extends DailyRow>(
	report: DailyReport<Row>,
	measure: Measure,
	nameOf: (row: Row) => string,
	rest: string,
	most = 6
): Bars {
	const totals = new Map<string, number>();
	for (const row of report.data) totals.set(nameOf(row), (totals.get(nameOf(row)) ?? 0) + row[measure]);
	const names = [...totals].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1)).map(([name]) => name);
	const hasRest = names.length > most;
	const series = hasRest ? [...names.slice(0, most - 1), rest] : names;
	const place = new Map(names.map((name, at) => [name, Math.min(at, series.length - 1)]));
	const byDay = new Map(
		daysFrom(report.first_day, report.last_day).map((day) => [day, { day, total: 0, parts: series.map(() => 0) }])
	);
	for (const row of report.data) {
		const bar = byDay.get(row.day ?? '');
		if (!bar) continue;
		const at = place.get(nameOf(row)) ?? 0;
		bar.parts[at] = (bar.parts[at] ?? 0) + row[measure];
		bar.total += row[measure];
	}
	const days = [...byDay.values()];
	return { series, hasRest, days, highest: Math.max(0, ...days.map((bar) => bar.total)) };
}

/** All days from the first to the last, as `2026-01-31`. */
export function daysFrom(first: string, last: string): string[] {
	const days: string[] = [];
	for (let at = Date.parse(first); at <= Date.parse(last); at += DAY_MS) days.push(new Date(at).toISOString().slice(0, 10));
	return days;
}

/** How many of what is counted are one of what is shown. */
const UNITS: Partial<Record<Measure, number>> = { gpu_ms: 1_000, pixel_steps: 1_000_000 };

/** An amount in the unit in which a measure is shown. */
export function inUnit(value: number, measure: Measure): number {
	return value / (UNITS[measure] ?? 1);
}

/** The lowest of 1, 2, 5, 10, 20, 50, ... that is not below a value: the top of an axis. */
export function axisTop(highest: number): number {
	if (highest <= 0) return 1;
	const power = 10 ** Math.floor(Math.log10(highest));
	return ([1, 2, 5, 10].find((step) => step * power >= highest) ?? 10) * power;
}
