import { uiHeader } from './activity';
import { API_ROOT } from './client';

/** The answer to a GET of this path, of which the body is read piece by piece. Raises an error without an answer. */
export function getRaw(path: string, accept: string, signal: AbortSignal): Promise<Response> {
	return fetch(API_ROOT + path, { headers: { ...uiHeader(), Accept: accept }, signal, credentials: 'same-origin' });
}

/** The address of the API, for commands that are run elsewhere. */
export function apiAddress(): string {
	return new URL(API_ROOT || '/', location.href).href.replace(/\/$/, '');
}
