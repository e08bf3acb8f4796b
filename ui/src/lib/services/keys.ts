import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type Key = components['schemas']['KeyObject'];
export type KeyBody = components['schemas']['KeyBody'];
/** What the form offers. A key with the scope `tenants`, of a gateway, is made by `stoker keys create`. */
export type Scope = Exclude<NonNullable<KeyBody['scopes']>[number], 'tenants'>;
export const SCOPES: readonly Scope[] = ['inference', 'read', 'operate', 'admin', 'metrics', 'governance'];

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

const SOON_S = 7 * 86_400;

/** Whether a key ends within 7 days. */
export function expiresSoon(key: Key, now: Date): boolean {
	return key.expires_at !== null && !key.has_expired && key.expires_at - now.getTime() / 1000 < SOON_S;
}
