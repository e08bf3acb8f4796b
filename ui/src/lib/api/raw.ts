import { uiHeader } from './activity';
import { API_ROOT } from './client';

/** The answer to a GET of this path, of which the body is read piece by piece. Raises an error without an answer. */
export function getRaw(path: string, accept: string, signal: AbortSignal): Promise<Response> {
	return sendRaw('GET', path, { headers: { Accept: accept }, signal });
}

/** The answer to a request of this path; `body` is JSON that is encoded already, or a form. Raises an error without an answer. */
export function sendRaw(
	method: string,
	path: string,
	{ body, headers = {}, signal }: { body?: string | FormData; headers?: Record<string, string>; signal?: AbortSignal | undefined }
): Promise<Response> {
	return fetch(API_ROOT + path, {
		method,
		headers: { ...uiHeader(), ...(typeof body === 'string' && { 'Content-Type': 'application/json' }), ...headers },
		...(body !== undefined && { body }),
		...(signal && { signal }),
		credentials: 'same-origin'
	});
}

/** The address of the API, for commands that are run elsewhere. */
export function apiAddress(): string {
	return new URL(API_ROOT || '/', location.href).href.replace(/\/$/, '');
}
