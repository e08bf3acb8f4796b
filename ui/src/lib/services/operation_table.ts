import { isOpen, KINDS, STATUSES, type Operation } from '$lib/services/operations';
import { mebibytes } from '$lib/services/format';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

const words = text.operations;
const titles = words.columns;

/** What an operation is called: `Load of org/model`. */
export function titleOf({ kind, scope, model }: Operation): string {
	return words.named(kind, scope ? words.scope(scope) : (model ?? ''));
}

/** Who requested an operation; it is unknown of one that an earlier release began. */
export function requesterOf({ requested_by: by }: Operation): string {
	if (by === null) return text.common.unknown;
	const signers = by.signers.length > 0 ? words.signedBy(by.signers.join(', ')) : '';
	return by.authority === 'platform' ? words.byPlatform : `${by.actor} (${by.authority}${signers})`;
}

/** What the cancel of a load or a download does. */
export function cancelEffectOf({ kind, restores }: Operation): string {
	if (kind === 'download') return words.cancelDownload;
	return restores ? words.cancelRestores : words.cancelEffect;
}

/** The memory that an operation took or freed; null while it is not known. */
export function memoryText({ result, kind }: Operation): string | null {
	if (result === null || words.memory[kind] === undefined || result.memory_mib === null) return null;
	return mebibytes(result.memory_mib);
}

/** Operations under way come before all others, the newest first. */
function beginOf(operation: Operation): number {
	return operation.created_at + (isOpen(operation) ? 1e12 : 0);
}

/** Whether an operation needs a line of its own: its progress, or its error. */
export function hasNews(operation: Operation): boolean {
	return isOpen(operation) || operation.error !== null;
}

export const OPERATION_TABLE: TableModel<Operation> = {
	columns: [
		{ id: 'name', title: titles.name, value: titleOf, shown: 'always', card: 'name' },
		{ id: 'status', title: words.status, value: ({ status }) => status, card: 'fact' },
		{ id: 'began', title: words.began, value: beginOf, isLargestFirst: true, card: 'fact' },
		{ id: 'duration', title: words.duration, value: ({ duration_s }) => duration_s, isLargestFirst: true, isNumber: true, card: 'fact' },
		{ id: 'memory', title: titles.memory, value: ({ result }) => result?.memory_mib ?? null, isLargestFirst: true, isNumber: true },
		{ id: 'requester', title: words.requester, value: requesterOf },
		{ id: 'replicas', title: titles.replicas, value: ({ replicas }) => replicas, isLargestFirst: true, isNumber: true, shown: 'chosen' },
		{ id: 'evicts', title: words.evicts, value: ({ evicts }) => evicts, shown: 'chosen' },
		{ id: 'source', title: words.source, value: ({ source }) => source, shown: 'chosen' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [
		{ id: 'kind', title: words.kind, of: ({ kind }) => kind, options: KINDS.map((kind) => ({ value: kind, label: words.kinds[kind] })) },
		{ id: 'model', title: words.modelName, of: ({ model }) => model ?? '' },
		{
			id: 'status',
			title: words.status,
			of: (operation) => (isOpen(operation) ? 'open' : operation.status),
			options: STATUSES.map((status) => ({ value: status, label: words.statuses[status] }))
		}
	],
	searched: (operation) => [titleOf(operation), operation.id, operation.error ?? '', operation.error_code ?? '', requesterOf(operation)],
	key: ({ id }) => id,
	sort: 'began',
	isDescending: true
};
