import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';

export type Health = components['schemas']['HealthBody'];

/** The health of the platform, which needs no key. Null if the API does not answer. */
export async function readHealth(): Promise<Health | null> {
	try {
		const { data, error } = await api.GET('/health');
		return data ?? (error && 'status' in error ? error : null);
	} catch {
		return null;
	}
}
