import { pathPart } from '$lib/api/client';
import { sendRaw } from '$lib/api/raw';
import { ApiProblem, problemOf } from '$lib/services/call';
import { readResponse } from './answer_calls';
import { ByteEvents } from './byte_events';
import type { Connection } from './live_state';
import { Backoff, pause } from './pause';
import { finalStatus, type ResponseObject } from './response';

/** A stream that is silent for so long is dead: the API sends a comment every 15 s. */
const SILENCE_MS = 45_000;
const SIGN_IN_MS = 30_000;
/** Refusals that end by themselves in a moment: the request is sent again for so long. */
const PASSING = [
	'storage_unavailable',
	'server_busy',
	'too_many_streams',
	'conversation_locked',
	'stream_not_ready',
	'draining',
	'starting'
];
const PASSING_MS = 120_000;
/** A load may take long, and ends: then the model answers, or has failed. */
const CHANGING = ['model_loading', 'model_changing', 'model_unloading'];
const CHANGING_MS = 3_600_000;
/** A model that failed and is back in so many seconds: its engine is started again, or another worker takes over. */
const RESTART_S = 15;

/** What is asked for, and how far it was read. The listener moves `offset` and `sequence` on. */
export interface AnswerTask {
	/** The id of the message: its `X-Conversation-Id` and its `Idempotency-Key`. */
	id: string;
	/** The body of the request; null once its first event has come. */
	body: string | null;
	offset: number;
	sequence: number;
	responseId: string | null;
	/** Whether an earlier page has read the beginning: the answer may have ended long ago. */
	isResumed: boolean;
	/** Of images and audio: one attempt, which reads to the end. A repeat gets the same answer from its begin. */
	attempt?: ((listener: AnswerListener, signal: AbortSignal) => Promise<'ended' | 'cut' | 'lost'>) | undefined;
}

export interface AnswerListener {
	/** An event, and how many bytes of the stream end with it. Returns whether it is the last one. */
	event(data: Record<string, unknown>, offset: number): boolean;
	/** The response as a whole: its stream is not kept any more. */
	whole(response: ResponseObject): void;
	connection(connection: Connection): void;
	/** The head of an answer of the API, for the inspector. */
	head(response: Response): void;
}

/** How the reading ended: `lost`: neither the stream nor the response is kept. */
export type Outcome = 'ended' | 'lost' | 'aborted' | ApiProblem;

/**
 * Ask for an answer and read it to its end, over lost connections, restarts of the API and sign-outs, until `signal` stops
 * it. The request is sent once; what was sent is read on by its byte offset, or else as a response.
 */
export async function readAnswer(
	task: AnswerTask,
	listener: AnswerListener,
	signal: AbortSignal,
	backoff = new Backoff()
): Promise<Outcome> {
	const startedAt = Date.now();
	const counting: AnswerListener = {
		...listener,
		event: (data, offset) => {
			backoff.reset();
			return listener.event(data, offset);
		}
	};
	while (!signal.aborted) {
		listener.connection('connecting');
		let waitS = 0;
		try {
			const outcome = await readOnce(task, counting, signal);
			if (outcome !== 'cut') return outcome;
			listener.connection('waiting');
		} catch (error) {
			if (signal.aborted) break;
			if (error instanceof ApiProblem) {
				if (error.status === 401) {
					listener.connection('signed-out');
					await pause(SIGN_IN_MS, signal);
					continue;
				}
				if (!passes(error, Date.now() - startedAt)) return error;
				waitS = error.retryAfter ?? 0;
			}
			if (!isRefusal(error)) listener.connection(navigator.onLine ? 'waiting' : 'offline');
		}
		await pause(backoff.next(waitS), signal);
	}
	return 'aborted';
}

/** Whether a refusal may end by itself, so that the request is sent again without asking anybody. */
function passes(problem: ApiProblem, elapsedMs: number): boolean {
	// a proxy's page while the API restarts, or no answer at all
	if (!isRefusal(problem)) return true;
	const isRestart = problem.code === 'model_failed' && (problem.retryAfter ?? Infinity) <= RESTART_S;
	if (CHANGING.includes(problem.code)) return elapsedMs < CHANGING_MS;
	return elapsedMs < PASSING_MS && (isRestart || PASSING.includes(problem.code));
}

/** Whether the platform itself has answered. */
function isRefusal(error: unknown): boolean {
	if (!(error instanceof ApiProblem) || error.status === 0) return false;
	return !(error.status >= 502 && error.code.startsWith('http_'));
}

/** One connection. `cut`: it ended before the answer did. Raises `ApiProblem` for a refusal, another error without an answer. */
async function readOnce(task: AnswerTask, listener: AnswerListener, signal: AbortSignal): Promise<Outcome | 'cut'> {
	if (task.attempt) return task.attempt(listener, signal);
	// until its first event has come the request is sent again: the same key gives the same response, from its begin
	if (task.body !== null) return post(task, task.body, listener, signal);
	if (task.responseId === null) return 'lost';
	if (task.isResumed) {
		const state = await readState(task.responseId, listener, signal);
		if (state !== 'running') return state;
		task.isResumed = false;
	}
	const stream = await open(`/v1/stream/${pathPart(task.id)}?from=${task.offset}`, listener, signal);
	if (stream.ok) return readEvents(stream.response, task.offset, listener, stream.stop);
	if (stream.problem.status !== 404 && stream.problem.status !== 400) throw retried(stream.problem);
	const state = await readState(task.responseId, listener, signal);
	if (state !== 'running') return state;
	const path = `/v1/responses/${pathPart(task.responseId)}?stream=true&starting_after=${task.sequence}`;
	const again = await open(path, listener, signal);
	if (!again.ok) throw retried(again.problem);
	return readEvents(again.response, task.offset, listener, again.stop);
}

/** Look whether a response has ended; then the listener gets it. */
async function readState(id: string, listener: AnswerListener, signal: AbortSignal): Promise<'running' | 'ended' | 'lost'> {
	try {
		const response = await readResponse(id, signal);
		if (!finalStatus(response.status)) return 'running';
		listener.whole(response);
		return 'ended';
	} catch (error) {
		if (error instanceof ApiProblem && error.status === 404) return 'lost';
		throw error;
	}
}

/** A refusal to read what runs is no end of it: 503 and 429 pass. */
function retried(problem: ApiProblem): ApiProblem {
	const isPassing = problem.status === 429 || problem.status >= 500;
	return isPassing ? new ApiProblem(0, problem.code, problem.message, undefined, problem.retryAfter) : problem;
}

async function post(
	task: AnswerTask,
	body: string,
	listener: AnswerListener,
	signal: AbortSignal
): Promise<'ended' | 'cut'> {
	const headers = { 'X-Conversation-Id': task.id, 'Idempotency-Key': task.id };
	const answer = await open('/v1/responses?autoload=true', listener, signal, { body, headers });
	if (!answer.ok) throw answer.problem;
	return readEvents(answer.response, 0, listener, answer.stop);
}

type Opened = { ok: true; response: Response; stop: AbortController } | { ok: false; problem: ApiProblem };

async function open(
	path: string,
	listener: AnswerListener,
	signal: AbortSignal,
	sent: { body?: string; headers?: Record<string, string> } = {}
): Promise<Opened> {
	const stop = new AbortController();
	if (signal.aborted) stop.abort();
	signal.addEventListener('abort', () => stop.abort());
	const response = await sendRaw(sent.body === undefined ? 'GET' : 'POST', path, {
		...(sent.body !== undefined && { body: sent.body }),
		headers: { Accept: 'text/event-stream', ...sent.headers },
		signal: stop.signal
	});
	listener.head(response);
	if (response.ok && response.body !== null) return { ok: true, response, stop };
	const body: unknown = await response.json().catch(() => undefined);
	return { ok: false, problem: problemOf(response, body) };
}

async function readEvents(
	response: Response,
	offset: number,
	listener: AnswerListener,
	stop: AbortController
): Promise<'ended' | 'cut'> {
	const events = new ByteEvents(offset);
	const reader = (response.body as ReadableStream<Uint8Array>).getReader();
	listener.connection('open');
	try {
		for (;;) {
			const timer = setTimeout(() => stop.abort(), SILENCE_MS);
			const { done, value } = await reader.read().finally(() => clearTimeout(timer));
			if (done) return 'cut';
			for (const event of events.push(value)) {
				if (listener.event(event.data, event.offset)) return 'ended';
			}
		}
	} finally {
		stop.abort(); // what follows the last event is `[DONE]`
	}
}
