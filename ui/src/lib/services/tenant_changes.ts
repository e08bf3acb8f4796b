import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { KeyBody } from '$lib/services/keys';
import type { TenantBody } from '$lib/services/tenants';

/** A new key with the key itself, which no other answer has. */
export type CreatedKey = components['schemas']['CreatedKey'];

/** Changes of tenants and keys. Each raises `ApiProblem`. */
export async function addTenant(body: TenantBody): Promise<void> {
	await call(api.POST('/v1/admin/tenants', { body }));
}

export async function changeTenant(name: string, body: components['schemas']['TenantFields']): Promise<void> {
	await call(api.PATCH('/v1/admin/tenants/{name}', { params: { path: { name } }, body }));
}

export async function removeTenant(name: string): Promise<void> {
	await call(api.DELETE('/v1/admin/tenants/{name}', { params: { path: { name } } }));
}

export async function createKey(body: KeyBody): Promise<CreatedKey> {
	return await call(api.POST('/v1/admin/keys', { body }));
}

export async function revokeKey(id: string): Promise<void> {
	await call(api.DELETE('/v1/admin/keys/{id}', { params: { path: { id } } }));
}
