import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Key } from '$lib/services/keys';
import { daysUntil, type Measure } from '$lib/services/usage';
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
	const models = (await call(api.GET('/v1/models'))).data.filter(({ chat }) => chat.output === 'text');
	const isReady = (model: (typeof models)[number]) => Number(model.state === 'loaded');
	return models.sort((one, other) => isReady(other) - isReady(one)).map(({ id }) => id);
}

/** The usage by some of day, model and key: of a tenant for an administrator, of the session's own for ''. Raises `ApiProblem`. */
export async function readKeyUsage(
	tenant: string,
	days: number,
	now: Date,
	groups: readonly KeyUsageReport['group_by'][number][]
): Promise<KeyUsageReport> {
	const query = { ...daysUntil(now, days), group_by: groups.join(',') };
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

/** The name of a row's model; of a row without `key`, a model of the name `other` is the further models. */
export function modelNameOf({ model, key }: Pick<KeyUsageRow, 'model' | 'key'>): string {
	return (key === undefined ? model : key) === OTHER ? text.account.otherModels : (model ?? '');
}

/** The rows of a report by model and key, with names for a table. */
export function sumsOf(report: Pick<KeyUsageReport, 'data'>): KeyUsageSum[] {
	return report.data.map((row) => ({
		...row,
		id: JSON.stringify([row.model, row.key]),
		model: modelNameOf(row),
		key: keyNameOf(row)
	}));
}

/** The name of a row's series in a report by day and one other group. */
export function seriesNameOf(report: Pick<KeyUsageReport, 'group_by'>): (row: KeyUsageRow) => string {
	return report.group_by.includes('key') ? keyNameOf : modelNameOf;
}
