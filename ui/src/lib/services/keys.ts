import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type Key = components['schemas']['KeyObject'];
export type KeyBody = components['schemas']['KeyBody'];
/** What the form offers. A key with the scope `tenants`, of a gateway, is made by `stoker keys create`. */
export type Scope = Exclude<NonNullable<KeyBody['scopes']>[number], 'tenants'>;
export const SCOPES: readonly Scope[] = ['inference', 'admin', 'metrics', 'governance'];

export interface KeyListing {
	keys: Key[];
	hasMore: boolean;
}

/** The first keys, by id: those of a tenant, or of all tenants for ''. Raises `ApiProblem`. */
export async function readKeys(tenant: string, limit: number): Promise<KeyListing> {
	const query = tenant ? { tenant, limit } : { limit };
	const page = await call(api.GET('/v1/admin/keys', { params: { query } }));
	return { keys: page.data, hasMore: page.has_more };
}

/** What the form of a new key has. `expires` is the text of a `datetime-local` field, in the browser's time zone. */
export interface KeyForm {
	tenant: string;
	scopes: readonly Scope[];
	models: string;
	expires: string;
	label: string;
}

/** The body that creates a key; models are separated by commas or white space, and none of them means all. */
export function keyBody(form: KeyForm): KeyBody {
	const body: KeyBody = { tenant: form.tenant, scopes: [...form.scopes] };
	const models = form.models.split(/[\s,]+/).filter(Boolean);
	if (models.length > 0) body.models = models;
	if (form.expires) body.expires_at = Math.floor(new Date(form.expires).getTime() / 1000);
	if (form.label.trim()) body.label = form.label.trim();
	return body;
}

export type KeySort = 'label' | 'tenant' | 'created' | 'used' | 'expires';
export interface KeyOrder {
	sort: KeySort;
	descending: boolean;
}

/** The keys whose label, tenant, last characters or id has a text, in an order; equal ones by id. */
export function orderedKeys(keys: readonly Key[], search: string, order: KeyOrder): Key[] {
	const wanted = search.trim().toLowerCase();
	const found = keys.filter((key) => [key.label, key.tenant, key.hint, key.id].some((text) => text.toLowerCase().includes(wanted)));
	const sign = order.descending ? -1 : 1;
	return found.sort((one, other) => {
		const [first, second] = [rank(one, order.sort), rank(other, order.sort)];
		if (first === second) return one.id < other.id ? -1 : 1;
		return first < second ? -sign : sign;
	});
}

/** A key that was never used is the least recently used one; one that never expires is the last to expire. */
function rank(key: Key, sort: KeySort): string | number {
	switch (sort) {
		case 'label':
			return key.label.toLowerCase();
		case 'tenant':
			return key.tenant;
		case 'created':
			return key.created_at ?? 0;
		case 'used':
			return key.last_used_at ?? 0;
		case 'expires':
			return key.expires_at ?? Infinity;
	}
}

const SOON_S = 7 * 86_400;

/** Whether a key ends within 7 days. */
export function expiresSoon(key: Key, now: Date): boolean {
	return key.expires_at !== null && !key.has_expired && key.expires_at - now.getTime() / 1000 < SOON_S;
}
