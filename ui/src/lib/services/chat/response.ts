import type { AnswerError, AnswerMessage, AnswerStatus, AnswerUsage, ToolCall } from '$lib/chat_types';

/** The parts of a response (`GET /v1/responses/{id}`, and the last event of a stream) that the chat reads. */
export interface ResponseObject {
	id?: string;
	status?: string;
	output?: OutputItem[];
	usage?: ResponseUsage | null;
	error?: { code?: string; message?: string } | null;
	measurements?: Measurements | null;
}

export interface OutputItem {
	id?: string;
	type?: string;
	content?: { type?: string; text?: string; refusal?: string }[];
	call_id?: string;
	name?: string;
	namespace?: string;
	arguments?: string;
	input?: string;
}

export interface ResponseUsage {
	input_tokens?: number;
	output_tokens?: number;
	input_tokens_details?: { cached_tokens?: number } | null;
	output_tokens_details?: { reasoning_tokens?: number } | null;
}

/** What the platform has measured: ms in the queue, in the engine, and from the dispatch to the first output. */
export interface Measurements {
	queue_wait_ms?: number | null;
	gpu_time_ms?: number | null;
	first_output_ms?: number | null;
	cache_hit?: boolean;
	cache_tokens_reused?: number;
}

const FINAL: Record<string, AnswerStatus> = {
	completed: 'done',
	incomplete: 'cut',
	cancelled: 'stopped',
	failed: 'failed'
};

/** Whether an answer of this status goes on. */
export function isRunning(status: AnswerStatus): boolean {
	return status === 'sending' || status === 'waiting' || status === 'running';
}

/** The status of an answer whose response has this one; undefined while it goes on. */
export function finalStatus(status: string | undefined): AnswerStatus | undefined {
	return FINAL[status ?? ''];
}

/**
 * The answer with what a response has. One that failed or was stopped early may have less than what was streamed: then the
 * streamed text stays.
 */
export function withResponse(answer: AnswerMessage, response: ResponseObject, measured?: Measurements): AnswerMessage {
	const output = response.output ?? [];
	const text = textOf(output, 'message');
	const reasoning = textOf(output, 'reasoning');
	const calls = callsOf(output);
	const usage = response.usage ? usageOf(response.usage) : answer.usage;
	const status = finalStatus(response.status) ?? (output.length > 0 ? 'running' : answer.status);
	return {
		...answer,
		status,
		responseId: response.id ?? answer.responseId,
		text: longer(text, answer.text, status),
		reasoning: longer(reasoning, answer.reasoning, status),
		calls: calls.length > 0 ? calls : answer.calls,
		usage: response.status === 'failed' ? answer.usage : usage,
		times: withMeasurements(answer, usage, measured ?? response.measurements ?? undefined),
		error: status === 'failed' ? errorOf(response.error) : null
	};
}

function longer(text: string, known: string, status: AnswerStatus): string {
	return status === 'done' || text.length >= known.length ? text : known;
}

function textOf(output: OutputItem[], type: string): string {
	return output
		.filter((item) => item.type === type)
		.map((item) => (item.content ?? []).map((part) => part.text ?? part.refusal ?? '').join(''))
		.filter((text) => text !== '')
		.join('\n\n');
}

/** The calls among the items. A custom tool's text is its only argument. */
export function callsOf(output: OutputItem[]): ToolCall[] {
	return output.filter(isCall).map((item) => ({
		id: item.call_id ?? item.id ?? '',
		name: item.name ?? '',
		arguments: item.arguments ?? item.input ?? ''
	}));
}

export function isCall(item: OutputItem): boolean {
	return item.type === 'function_call' || item.type === 'custom_tool_call';
}

export function usageOf(usage: ResponseUsage): AnswerUsage {
	return {
		inputTokens: usage.input_tokens ?? 0,
		cachedTokens: usage.input_tokens_details?.cached_tokens ?? 0,
		outputTokens: usage.output_tokens ?? 0,
		reasoningTokens: usage.output_tokens_details?.reasoning_tokens ?? 0
	};
}

/** `{"code": "server_error", "message": "engine_crashed: ..."}`: the platform's own code begins the message. */
export function errorOf(error: ResponseObject['error']): AnswerError {
	const message = error?.message ?? '';
	const own = /^([a-z][a-z0-9_]*): /.exec(message);
	return {
		code: own?.[1] ?? error?.code ?? 'failed',
		message: own ? message.slice(own[0].length) : message,
		param: null,
		retryAfter: null
	};
}

/** The times that the platform has measured are better than those of this browser, which may have been away. */
function withMeasurements(answer: AnswerMessage, usage: AnswerUsage | null, measured: Measurements | undefined) {
	const { times } = answer;
	const run = measured?.gpu_time_ms;
	if (run === undefined || run === null) return times;
	const wait = measured?.queue_wait_ms ?? 0;
	const first = measured?.first_output_ms;
	const writing = run - (first ?? 0);
	const rate = usage && usage.outputTokens > 1 && writing > 0 ? ((usage.outputTokens - 1) * 1_000) / writing : null;
	return {
		...times,
		firstTokenMs: typeof first === 'number' ? wait + first : times.firstTokenMs,
		totalMs: Math.max(wait + run, times.firstTokenMs ?? 0),
		tokensPerSecond: typeof first === 'number' ? rate : (times.tokensPerSecond ?? rate)
	};
}
