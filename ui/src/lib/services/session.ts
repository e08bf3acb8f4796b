import { api, API_ROOT } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { doesAnswer, problemOf } from '$lib/services/call';

export type Session = components['schemas']['SessionObject'];
/** With what the provider sent the browser back. */
export type ProviderAnswer = NonNullable<components['schemas']['SignInBody']['oidc']>;

/** Whether requests of a session may ask a model. */
export function mayAskModels({ open, scopes }: Session): boolean {
	return open || scopes.includes('inference');
}

/** Whose session this browser has. Returns the message of a refusal, null if the API does not answer. */
export async function readSession(): Promise<Session | string | null> {
	try {
		const { data, error, response } = await api.GET('/v1/session');
		if (data) return data;
		const problem = problemOf(response, error);
		return doesAnswer(problem) ? problem.message : null;
	} catch {
		return null;
	}
}

/** Why a sign-in was refused. That by the provider also has the page and the admin part that it wanted, for the next attempt. */
export interface Refusal {
	message: string;
	to?: string;
	admin?: boolean;
}

/** Sign in with a key, the token of a link, or the provider's answer. Null: no answer. */
export async function signIn(
	secret: { key: string; admin: boolean } | { link: string } | { oidc: ProviderAnswer }
): Promise<Session | Refusal | null> {
	try {
		const { data, error } = await api.POST('/v1/session', { body: secret });
		if (data) return data;
		const { message, to, admin } = error.error;
		return { message, ...(typeof to === 'string' && { to }), ...(typeof admin === 'boolean' && { admin }) };
	} catch {
		return null;
	}
}

/** The provider's page for signing in, and after that the page `to`. Returns its address, or the message of the refusal. */
export async function beginAtProvider(to: string, admin: boolean): Promise<{ url: string } | string | null> {
	try {
		const { data, error } = await api.POST('/v1/session/oidc', { body: { to, admin, base_path: API_ROOT } });
		return data ?? error.error.message;
	} catch {
		return null;
	}
}

/** The provider's answer in the address of the sign-in page; undefined if there is none. */
export function providerAnswer(search: string): ProviderAnswer | undefined {
	const given = new URLSearchParams(search);
	const state = given.get('state');
	if (!state) return undefined;
	const answer: ProviderAnswer = { state };
	for (const name of ['code', 'iss', 'error'] as const) {
		const value = given.get(name);
		if (value) answer[name] = value;
	}
	return answer;
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
