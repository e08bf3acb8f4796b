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

/**
 * Whether the process that has the connection of this page answers, which needs no key and no Redis. `frozen`: there was no answer
 * for so long, or a proxy has given one in its place (502, 504); `refused`: there is no connection.
 */
export async function doesLive(longestMs: number): Promise<'live' | 'frozen' | 'refused'> {
	const signal = AbortSignal.timeout(longestMs);
	try {
		const { response } = await api.GET('/live', { signal, cache: 'no-store' });
		return response.status === 502 || response.status === 504 ? 'frozen' : 'live';
	} catch {
		return signal.aborted ? 'frozen' : 'refused';
	}
}
