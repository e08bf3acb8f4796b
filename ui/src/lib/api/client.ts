import { base } from '$app/paths';
import createClient from 'openapi-fetch';
import { uiHeader } from './activity';
import type { paths } from './schema';

/** The address of the API: the pages are below `ui/`, and the API is beside them, also behind a proxy's prefix. */
export const API_ROOT = base.replace(/\/ui$/, '');

/** A parameter in a path. Names of models have slashes, which some reverse proxies refuse as `%2F`. */
export function pathPart(value: unknown): string {
	return String(value).split('/').map(encodeURIComponent).join('/');
}

let reads = new AbortController();

/** Give up the calls that only read and are under way: the end of a session would have them refused. */
export function abortReads(): void {
	reads.abort();
	reads = new AbortController();
}

/** Calls of the API, typed by its own document (`schema.d.ts`, made by `make ui`). */
export const api = createClient<paths>({
	baseUrl: API_ROOT,
	fetch: (request) => {
		for (const [name, value] of Object.entries(uiHeader())) request.headers.set(name, value);
		return request.method === 'GET' ? fetch(request, { signal: AbortSignal.any([request.signal, reads.signal]) }) : fetch(request);
	},
	credentials: 'same-origin',
	pathSerializer: (path, parameters) => path.replace(/\{(\w+)\}/g, (_, name: string) => pathPart(parameters[name]))
});
