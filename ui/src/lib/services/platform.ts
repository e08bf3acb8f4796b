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

/** Whether the process that has the connection of this page answers: no key, no Redis. Rejects if it does not. */
export async function readLife(longestMs: number): Promise<void> {
	await api.GET('/live', { signal: AbortSignal.timeout(longestMs), cache: 'no-store' });
}
