import { describe, expect, it } from 'vitest';
import { axisTop, barsOf, daysFrom, parametersOf, type UsageReport, type UsageRow } from '../src/lib/services/usage';

const NO_MEDIA = { audio_seconds: 0, images: 0, pixel_steps: 0 };

function row(day: string, tenant: string, model: string, output_tokens: number): UsageRow {
	return {
		day,
		tenant,
		model,
		output_tokens,
		requests: 1,
		succeeded: 1,
		input_tokens: 10,
		cached_tokens: 0,
		queue_ms: 0,
		gpu_ms: 500,
		...NO_MEDIA
	};
}

function report(...data: UsageRow[]): UsageReport {
	const totals = { requests: 0, succeeded: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0, queue_ms: 0, gpu_ms: 0, ...NO_MEDIA };
	return { object: 'usage', first_day: '2026-02-27', last_day: '2026-03-01', data, totals };
}

describe('the bars of the usage', () => {
	it('are one for each day, the largest series first', () => {
		const bars = barsOf(
			report(row('2026-02-27', 'a', 'm', 5), row('2026-03-01', 'b', 'm', 7), row('2026-03-01', 'a', 'n', 1)),
			'output_tokens',
			(row) => row.tenant,
			'others'
		);
		expect(bars).toEqual({
			series: ['b', 'a'],
			hasRest: false,
			days: [
				{ day: '2026-02-27', total: 5, parts: [0, 5] },
				{ day: '2026-02-28', total: 0, parts: [0, 0] },
				{ day: '2026-03-01', total: 8, parts: [7, 1] }
			],
			highest: 8
		});
	});

	it('are split by model, and measure what is asked for', () => {
		const bars = barsOf(report(row('2026-02-27', 'a', 'm', 5), row('2026-02-27', 'b', 'm', 5)), 'requests', (row) => row.model, 'others');
		expect([bars.series, bars.highest]).toEqual([['m'], 2]);
	});

	it('have the sum of the smaller series as the last one', () => {
		const data = ['a', 'b', 'c', 'd'].map((name, at) => row('2026-02-28', name, 'm', 10 - at));
		const bars = barsOf(report(...data), 'output_tokens', (row) => row.tenant, 'others', 3);
		expect(bars.series).toEqual(['a', 'b', 'others']);
		expect(bars.hasRest).toBe(true);
		expect(bars.days[1]).toEqual({ day: '2026-02-28', total: 34, parts: [10, 9, 15] });
	});

	it('are there without usage', () => {
		expect(barsOf(report(), 'requests', (row) => row.tenant, 'others')).toMatchObject({ series: [], highest: 0 });
	});
});

describe('the days', () => {
	it('have the end of a month and a leap year', () => {
		expect(daysFrom('2028-02-28', '2028-03-01')).toEqual(['2028-02-28', '2028-02-29', '2028-03-01']);
		expect(daysFrom('2026-03-01', '2026-02-01')).toEqual([]);
	});

	it('of a query end with the present one, in UTC', () => {
		const now = new Date('2026-03-01T00:30:00Z');
		expect(parametersOf({ days: 2, tenant: '', model: '' }, now)).toEqual({ from: '2026-02-28', to: '2026-03-01' });
		expect(parametersOf({ days: 1, tenant: 'a', model: 'org/m' }, now)).toEqual({
			from: '2026-03-01',
			to: '2026-03-01',
			tenant: 'a',
			model: 'org/m'
		});
	});
});

describe('the top of an axis', () => {
	it('is a round number that is not below the highest value', () => {
		expect([0, 0.3, 1, 3, 5.5, 12, 99, 100, 101].map(axisTop)).toEqual([1, 0.5, 1, 5, 10, 20, 100, 100, 200]);
	});
});
