import { language } from '$lib/chat_text/language.svelte';

/** What the API answered instead of a result. `status` is 0 and `code` is `unreachable` if there was no answer. */
export class ApiProblem extends Error {
	constructor(
		readonly status: number,
		readonly code: string,
		message: string,
		/** The path of the field that is wrong, if the answer names one. */
		readonly param: string | undefined = undefined,
		/** Seconds to wait before another attempt. */
		readonly retryAfter: number | undefined = undefined
	) {
		super(message);
	}
}

interface Answer<T> {
	data?: T;
	error?: unknown;
	response: Response;
}

/** The body of a call's answer (`call(api.GET(...))`). Raises `ApiProblem`. */
export async function call<T>(pending: Promise<Answer<T>>): Promise<T> {
	let answer: Answer<T>;
	try {
		answer = await pending;
	} catch {
		throw new ApiProblem(0, 'unreachable', language.text.common.unreachable);
	}
	if (answer.response.ok) return answer.data as T;
	throw problemOf(answer.response, answer.error);
}

/** The problem of an answer with an error, whose body is the API's envelope, or a reverse proxy's page. */
export function problemOf(response: Response, body: unknown): ApiProblem {
	// the time until a budget begins anew is days: nothing waits for it, and an administrator may raise the budget before
	const isFinal = response.headers.get('x-should-retry') === 'false';
	const wait = isFinal ? 0 : Number(response.headers.get('Retry-After'));
	const found = (body as { error?: { code?: unknown; message?: unknown; param?: unknown } } | undefined)?.error;
	return new ApiProblem(
		response.status,
		typeof found?.code === 'string' ? found.code : `http_${response.status}`,
		typeof found?.message === 'string' ? found.message : language.text.common.refused(response.status),
		typeof found?.param === 'string' ? found.param : undefined,
		wait > 0 ? wait : undefined
	);
}

/** Whether a problem is a refusal by the platform: neither a lost connection nor the page of a reverse proxy that has lost it. */
export function doesAnswer({ code }: ApiProblem): boolean {
	return code !== 'unreachable' && !code.startsWith('http_');
}

/** Any error that a call may raise, as a problem; another one is a mistake of the pages, and is raised again. */
export function asProblem(error: unknown): ApiProblem {
	if (error instanceof ApiProblem) return error;
	throw error;
}
