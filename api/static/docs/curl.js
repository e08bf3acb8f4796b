// Writes a request as a command of curl, for a POSIX shell.

const PLAIN_NAME = /^[\w. -]+$/; // a name of a file that curl reads without quotes

function quoted(text) {
	return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A field of a form: a text is sent as it is, also one that begins with `@`. */
function partOf([name, value]) {
	if (typeof value === 'string') return `--form-string ${quoted(`${name}=${value}`)}`;
	const file = PLAIN_NAME.test(value.name) ? value.name : `"${value.name.replace(/[\\"]/g, '\\$&')}"`;
	return `-F ${quoted(`${name}=@${file}${value.type && `;type=${value.type}`}`)}`;
}

function bodyOf(body) {
	if (body instanceof FormData) return [...body].map(partOf);
	if (body instanceof Blob) return [`--data-binary ${quoted(`@${body.name}`)}`];
	return body ? [`--data-raw ${quoted(body)}`] : [];
}

/** The command for a request with its final `url`, `method`, `headers` and `body`. With `withKey` the key is the variable KEY. */
export function curlOf({ url, method, headers, body }, withKey) {
	const address = new URL(url, location.href).href.replace(/[[\]{}]/g, encodeURIComponent); // curl would expand them
	const isForm = body instanceof FormData; // curl writes the type, which has a boundary
	const sent = Object.entries(headers).filter(([name]) => !isForm || name.toLowerCase() !== 'content-type');
	return [
		`curl -X ${method.toUpperCase()} ${quoted(address)}`,
		...(withKey ? ['-H "Authorization: Bearer $KEY"'] : []),
		...sent.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
		...bodyOf(body)
	].join(' \\\n  ');
}
