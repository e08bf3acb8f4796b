import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Operation } from '$lib/services/feed_events';

/** Operations: how they are read, cancelled and begun again. */

export type { Operation };
export type OperationPage = components['schemas']['OperationList'];

export const KINDS = ['load', 'unload', 'flush', 'download', 'remove'] as const;
/** What a list can be narrowed to; `open`: pending or running. */
export const STATUSES = ['open', 'completed', 'failed', 'cancelled'] as const;

/** Which operations are listed; undefined: all. */
export interface OperationFilter {
	kind?: (typeof KINDS)[number] | undefined;
	model?: string | undefined;
	status?: (typeof STATUSES)[number] | undefined;
}

/** The request that an operation began with: the same again. */
export interface OperationRequest {
	path: string;
	body: Record<string, unknown> | undefined;
}

/** A page of operations, the newest first. Raises `ApiProblem`. */
export function readOperations(
	{ kind, model, status }: OperationFilter,
	limit: number,
	after?: string
): Promise<OperationPage> {
	const query = { limit, ...(kind && { kind }), ...(model && { model }), ...(status && { status }), ...(after && { after }) };
	return call(api.GET('/v1/admin/operations', { params: { query } }));
}

/** One operation. Raises `ApiProblem`. */
export function readOperation(id: string): Promise<Operation> {
	return call(api.GET('/v1/admin/operations/{id}', { params: { path: { id } } }));
}

/** Cancel a load or a download. Raises `ApiProblem`. */
export async function cancelOperation(id: string): Promise<void> {
	await call(api.DELETE('/v1/admin/operations/{id}', { params: { path: { id } } }));
}

export function isOpen(operation: Operation): boolean {
	return operation.status === 'pending' || operation.status === 'running';
}

export function isCancellable(operation: Operation): boolean {
	return (operation.kind === 'load' || operation.kind === 'download') && isOpen(operation);
}

/** Whether the same request can be sent again. An addition has more parameters than its operation, a removal has nothing left. */
export function isRepeatable(operation: Operation): boolean {
	return !isOpen(operation) && operation.kind !== 'download' && operation.kind !== 'remove';
}

/** The query of the page that adds a model, to continue a download that has ended without one. */
export function additionQuery(operation: Operation): string | undefined {
	if (operation.kind !== 'download' || isOpen(operation) || operation.status === 'completed') return undefined;
	const [source] = (operation.source ?? '').split(' ');
	return source ? `?${new URLSearchParams({ source, ...(operation.model && { name: operation.model }) })}` : undefined;
}

export function matches(operation: Operation, { kind, model, status }: OperationFilter): boolean {
	if (kind !== undefined && operation.kind !== kind) return false;
	if (model !== undefined && operation.model !== model) return false;
	if (status === undefined) return true;
	return status === 'open' ? isOpen(operation) : operation.status === status;
}

/** The later of two states of one operation. */
export function later(one: Operation, other: Operation): Operation {
	if (isOpen(one) !== isOpen(other)) return isOpen(one) ? other : one;
	if (one.status !== other.status) return one.status === 'pending' ? other : one;
	return one.progress > other.progress ? one : other;
}

/**
 * What a list shows: the operations that were read, as the feed has them if that is later, and those that have begun since.
 * The newest first.
 */
export function merged(
	read: readonly Operation[],
	fromFeed: Readonly<Record<string, Operation>>,
	filter: OperationFilter
): Operation[] {
	const known = new Map(read.map((operation) => [operation.id, operation]));
	const oldest = Math.min(...read.map((operation) => operation.created_at));
	for (const operation of Object.values(fromFeed)) {
		const before = known.get(operation.id);
		if (before) known.set(operation.id, later(before, operation));
		else if (read.length === 0 || operation.created_at >= oldest) known.set(operation.id, operation);
	}
	return [...known.values()]
		.filter((operation) => matches(operation, filter))
		.sort((one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1));
}

/** The request that does the same again. */
export function requestOf(operation: Operation): OperationRequest {
	if (operation.kind === 'flush') return { path: '/v1/admin/cache/flush', body: flushBody(operation) };
	const name = (operation.model ?? '').split('/').map(encodeURIComponent).join('/');
	const path = `/v1/admin/models/${name}/${operation.kind}`;
	return { path, body: operation.kind === 'load' ? loadBody(operation) : undefined };
}

/** Begin the same operation again. Returns the new one; null if nothing had to be done. Raises `ApiProblem`. */
export async function beginAgain(operation: Operation): Promise<Operation | null> {
	const path = { name: operation.model ?? '' };
	switch (operation.kind) {
		case 'load': {
			const params = { path };
			const body = loadBody(operation);
			return (await call(api.POST('/v1/admin/models/{name}/load', { params, body }))).operation;
		}
		case 'unload':
			return (await call(api.POST('/v1/admin/models/{name}/unload', { params: { path } }))).operation;
		case 'flush':
			return call(api.POST('/v1/admin/cache/flush', { body: flushBody(operation) }));
		default:
			return null;
	}
}

/** A load that restored replicas did not choose their number, and has none here. */
function loadBody(operation: Operation): Record<string, unknown> {
	return {
		...operation.load_override,
		...(operation.restores ? {} : { replicas: operation.replicas }),
		...(operation.evicts === null ? {} : { evictModel: operation.evicts })
	};
}

function flushBody({ scope }: Operation): components['schemas']['FlushBody'] {
	const { kind = 'all', ...named } = scope ?? {};
	return { scope: kind, ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null)) };
}
