import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';

export type Session = components['schemas']['SessionObject'];

/** Whether requests of a session may ask a model. */
export function mayAskModels({ open, scopes }: Session): boolean {
	return open || scopes.includes('inference');
}

/** Whose session this browser has. Null if the API does not answer. */
export async function readSession(): Promise<Session | null> {
	try {
		return (await api.GET('/v1/session')).data ?? null;
	} catch {
		return null;
	}
}

/** Sign in with a key or the token of a link. Returns the session, or the message of the refusal; null: no answer. */
export async function signIn(
	secret: { key: string; admin: boolean } | { link: string }
): Promise<Session | string | null> {
	try {
		const { data, error } = await api.POST('/v1/session', { body: secret });
		return data ?? error.error.message;
	} catch {
		return null;
	}
}

/** End the session. Returns whether it has ended. */
export async function signOut(): Promise<boolean> {
	try {
		const { response } = await api.DELETE('/v1/session');
		return response.ok || response.status === 401; // 401: it had ended before
	} catch {
		return false;
	}
}
