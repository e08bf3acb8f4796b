import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Operation } from '$lib/services/feed_events';

/** Flushes of prefix caches, and what one would affect. */

export type FlushBody = components['schemas']['FlushBody'];
export type FlushPlan = components['schemas']['FlushPlan'];
export type ScopeKind = FlushBody['scope'];

export const SCOPES: readonly ScopeKind[] = ['all', 'model', 'tenant', 'tag'];

/** What a scope of each kind names. */
export const FIELDS = { all: [], model: ['model'], tenant: ['tenant'], tag: ['tenant', 'tag'] } as const;

/** The body of a flush: of the values only those that its scope has. */
export function bodyOf(scope: ScopeKind, values: Record<'model' | 'tenant' | 'tag', string>): FlushBody {
	return { scope, ...Object.fromEntries(FIELDS[scope].map((name) => [name, values[name].trim()])) };
}

/** The scope of a flush, as an operation has it. */
export function scopeOf({ scope, model, tenant, tag }: FlushBody): NonNullable<Operation['scope']> {
	return { kind: scope, model: model ?? null, tenant: tenant ?? null, tag: tag ?? null };
}

/** What a flush would affect at this moment; nothing is changed. Raises `ApiProblem`. */
export function planFlush(body: FlushBody): Promise<FlushPlan> {
	return call(api.POST('/v1/admin/cache/flush/plan', { body }));
}

/** Begin a flush. Raises `ApiProblem`. */
export function flush(body: FlushBody): Promise<Operation> {
	return call(api.POST('/v1/admin/cache/flush', { body }));
}
