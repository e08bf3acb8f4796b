/**
 * The command for a call of the API, for a POSIX shell. `page` is the address of the page, whose folder `ui/` lies beside the
 * API. The key is a variable, so that the command may be shown and shared: `keyVariable`.
 */
export function curlOf(page: string, method: string, path: string, body?: unknown): string {
	const parts = ['curl'];
	if (method !== 'GET') parts.push('-X', method);
	parts.push(quoted(rootOf(page) + path), '-H', `"Authorization: Bearer $${keyVariable(path)}"`);
	if (body !== undefined) parts.push('-H', quoted('Content-Type: application/json'), '-d', quoted(JSON.stringify(body)));
	return parts.join(' ');
}

/** The variable with a key that may make the call, as the command line reads it. */
export function keyVariable(path: string): string {
	return /^\/v1\/(admin|governance)\//.test(path) ? 'STOKER_ADMIN_KEY' : 'STOKER_API_KEY';
}

function rootOf(page: string): string {
	const { origin, pathname } = new URL(page);
	return origin + pathname.slice(0, Math.max(0, pathname.lastIndexOf('/ui/')));
}

function quoted(text: string): string {
	return `'${text.replaceAll("'", `'\\''`)}'`;
}
