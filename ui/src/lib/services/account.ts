import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Key } from '$lib/services/keys';
import { daysUntil, type Measure, MEASURES } from '$lib/services/usage';
import { text } from '$lib/text';

export type Account = components['schemas']['Account'];
export type KeyUsageReport = components['schemas']['KeyUsageReport'];
export type KeyUsageRow = components['schemas']['KeyUsageRow'];

/** What models and keys used in all days of a report. */
export type KeyUsageSum = Record<Measure, number> & { id: string; model: string; key: string };

const OTHER = 'other';
const MOST_KEYS = 1_000;

/** The account of the session's tenant. Raises `ApiProblem`. */
export function readAccount(): Promise<Account> {
	return call(api.GET('/v1/account'));
}

/** The keys of the session's tenant. Raises `ApiProblem`. */
export async function readOwnKeys(): Promise<Key[]> {
	return (await call(api.GET('/v1/account/keys', { params: { query: { limit: MOST_KEYS } } }))).data;
}

/** The names of the models that the session may ask. Raises `ApiProblem`. */
export async function readModelNames(): Promise<string[]> {
	return (await call(api.GET('/v1/models'))).data.map(({ id }) => id);
}

/** The usage by day, model and key: of a tenant for an administrator, of the session's own for ''. Raises `ApiProblem`. */
export async function readKeyUsage(tenant: string, days: number, now: Date): Promise<KeyUsageReport> {
	const query = daysUntil(now, days);
	const pending = tenant
		? api.GET('/v1/admin/tenants/{name}/usage', { params: { path: { name: tenant }, query } })
		: api.GET('/v1/account/usage', { params: { query } });
	return (await call(pending as never)) as KeyUsageReport; // the answer has two forms, and without `format` it is JSON
}

/** The same as CSV. Raises `ApiProblem`. */
export async function readKeyCsv(tenant: string, days: number, now: Date): Promise<Blob> {
	const query = { ...daysUntil(now, days), format: 'csv' as const };
	const pending = tenant
		? api.GET('/v1/admin/tenants/{name}/usage', { params: { path: { name: tenant }, query }, parseAs: 'blob' })
		: api.GET('/v1/account/usage', { params: { query }, parseAs: 'blob' });
	return (await call(pending as never)) as unknown as Blob;
}

/** The name of a row's key: its label, else its id. */
export function keyNameOf({ key, key_label }: Pick<KeyUsageRow, 'key' | 'key_label'>): string {
	if (key === null || key === undefined) return text.account.noKey;
	return key === OTHER ? text.account.otherKeys : key_label || key;
}

/** The name of a row's model. */
export function modelNameOf({ model, key }: Pick<KeyUsageRow, 'model' | 'key'>): string {
	return key === OTHER ? text.account.otherModels : (model ?? '');
}

/** The sums of a report's days by model and key. */
export function sumsOf(report: Pick<KeyUsageReport, 'data'>): KeyUsageSum[] {
	const sums = new Map<string, KeyUsageSum>();
	for (const row of report.data) {
		const id = JSON.stringify([row.model, row.key]);
		const sum = sums.get(id) ?? { id, model: modelNameOf(row), key: keyNameOf(row), ...none() };
		for (const measure of MEASURES) sum[measure] += row[measure];
		sums.set(id, sum);
	}
	return [...sums.values()];
}

function none(): Record<Measure, number> {
	return Object.fromEntries(MEASURES.map((measure) => [measure, 0])) as Record<Measure, number>;
}
