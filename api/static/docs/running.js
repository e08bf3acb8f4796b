// The requests of "Try it out" that run: each can be aborted, and an answer that is a stream is shown as it comes, within bounds.

const STREAMS = /^text\/event-stream|ndjson/;
const MOST_MS = 60_000;
const MOST_BYTES = 256 * 1024;
const SHOW_EVERY_MS = 250;

const running = new Map(); // by method and path
const keyOf = (path, method) => `${method} ${path}`;

/** Why a request ends here: Swagger UI shows the message alone. */
function reason(message) {
	return Object.assign(new Error(message), { name: '' });
}

/** Read a stream until its end, an abort or a bound; `show` gets the text so far. Returns the text, with a line that says why it ends. */
async function readStream(body, controller, show) {
	const reader = body.getReader();
	const decoder = new TextDecoder();
	let [text, shown, size] = ['', undefined, 0];
	const limit = setTimeout(() => controller.abort(reason(`The page reads a stream for ${MOST_MS / 1000} s at most; curl reads on.`)), MOST_MS);
	const shows = setInterval(() => text !== shown && show((shown = text)), SHOW_EVERY_MS);
	show((shown = text));
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return text;
			text += decoder.decode(value, { stream: true });
			size += value.length;
			if (size >= MOST_BYTES) controller.abort(reason(`The page shows ${MOST_BYTES / 1024} KiB of a stream; curl reads on.`));
		}
	} catch {
		return `${text}\n(${controller.signal.reason?.message ?? 'The connection was lost.'})\n`;
	} finally {
		clearTimeout(limit);
		clearInterval(shows);
	}
}

/** What is added to a request of Swagger UI, so that it can be ended. `show` gets a part of its answer, as `setResponse` takes it. */
export function begun({ pathName, method, operation }, show) {
	const key = keyOf(pathName, method);
	drop(pathName, method);
	const controller = new AbortController();
	const run = { controller, id: operation.get('operationId'), isDropped: false };
	const began = Date.now();
	running.set(key, run);

	async function userFetch(url, request) {
		try {
			const answer = await fetch(url, request);
			const { ok, status, statusText } = answer;
			if (!answer.body || !STREAMS.test(answer.headers.get('content-type') ?? '')) return answer;
			const headers = Object.fromEntries(answer.headers);
			const text = await readStream(answer.body, controller, (text) => {
				if (!run.isDropped) show({ ok, status, statusText, url, headers, text, data: text, duration: Date.now() - began });
			});
			if (!run.isDropped) return new Response(text, { status, statusText, headers });
		} catch (error) {
			if (!run.isDropped) throw error;
		}
		return new Promise(() => {}); // its answer is cleared: it must not come back
	}

	return { signal: controller.signal, userFetch };
}

/** End a request whose answer is shown no more. */
export function drop(path, method) {
	const run = running.get(keyOf(path, method));
	if (!run) return;
	running.delete(keyOf(path, method));
	run.isDropped = true;
	run.controller.abort();
}

/** End the request of an operation, and leave what has been read. */
export function cancel(operationId) {
	for (const { id, controller } of running.values()) if (id === operationId) controller.abort(reason('Cancelled.'));
}
