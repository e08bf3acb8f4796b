import type { AnswerMessage } from '$lib/chat_types';
import type { PromptProgress } from './live_state';
import { callsOf, errorOf, isCall, withResponse, type Measurements, type OutputItem, type ResponseObject } from './response';

type Data = Record<string, unknown>;

/** What an event changes: the answer, and what is known only while it runs. */
export interface Reading {
	answer: AnswerMessage;
	/** Pieces of output in this event: 1 for a delta. */
	tokens: number;
	progress: PromptProgress | null;
	isEnd: boolean;
}

/**
 * The answer after an event of its stream. `now` is the time of the event, `reasonsSince` when its reasoning began (null:
 * it has not), both in ms. The events are those of docs/api.md, "Events".
 */
export function readEvent(answer: AnswerMessage, data: Data, now: number, reasonsSince: number | null): Reading {
	const unchanged: Reading = { answer, tokens: 0, progress: null, isEnd: false };
	switch (data.type) {
		case 'response.created':
		case 'response.queued':
		case 'response.in_progress': {
			const id = (data.response as ResponseObject | undefined)?.id;
			const status = answer.status === 'sending' ? 'waiting' : answer.status;
			return { ...unchanged, answer: { ...answer, responseId: id ?? answer.responseId, status } };
		}
		case 'response.prompt_progress':
			return { ...unchanged, answer: { ...answer, status: 'running' }, progress: progressOf(data) };
		case 'response.output_item.added':
			return { ...unchanged, answer: begun(answer, data.item as OutputItem) };
		case 'response.output_text.delta':
		case 'response.refusal.delta':
			return written({ ...reasoned(answer, now, reasonsSince), text: answer.text + textOf(data.delta) }, now);
		case 'response.reasoning_text.delta':
			return written({ ...answer, reasoning: answer.reasoning + textOf(data.delta) }, now);
		case 'response.function_call_arguments.delta':
		case 'response.custom_tool_call_input.delta':
			return written({ ...reasoned(answer, now, reasonsSince), calls: extended(answer, textOf(data.delta)) }, now);
		case 'response.output_item.done':
			return { ...unchanged, answer: ended(answer, data.item as OutputItem) };
		case 'response.completed':
		case 'response.incomplete':
		case 'response.failed': {
			const measured = data.measurements as Measurements | undefined;
			const whole = withResponse(reasoned(answer, now, reasonsSince), (data.response ?? {}) as ResponseObject, measured);
			return { ...unchanged, answer: whole, isEnd: true };
		}
		case 'error':
			return { ...unchanged, answer: { ...answer, status: 'failed', error: errorOf(data as never) }, isEnd: true };
		default:
			return unchanged;
	}
}

function written(answer: AnswerMessage, now: number): Reading {
	const { times } = answer;
	const firstTokenMs = times.firstTokenMs ?? now - times.sentAt;
	return { answer: { ...answer, status: 'running', times: { ...times, firstTokenMs } }, tokens: 1, progress: null, isEnd: false };
}

/** The answer once something other than reasoning comes. */
function reasoned(answer: AnswerMessage, now: number, reasonsSince: number | null): AnswerMessage {
	if (answer.reasoning === '' || answer.reasoningMs !== null || reasonsSince === null) return answer;
	return { ...answer, reasoningMs: Math.max(0, now - reasonsSince) };
}

function begun(answer: AnswerMessage, item: OutputItem | undefined): AnswerMessage {
	const running: AnswerMessage = { ...answer, status: 'running' };
	if (!item) return running;
	if (isCall(item)) return { ...running, calls: [...answer.calls, ...callsOf([{ ...item, arguments: '' }])] };
	// a second message, after a call or more reasoning
	if (item.type === 'message' && answer.text !== '') return { ...running, text: `${answer.text}\n\n` };
	if (item.type === 'reasoning' && answer.reasoning !== '') return { ...running, reasoning: `${answer.reasoning}\n\n` };
	return running;
}

function ended(answer: AnswerMessage, item: OutputItem | undefined): AnswerMessage {
	const [call] = item && isCall(item) ? callsOf([item]) : [];
	return call ? { ...answer, calls: answer.calls.map((one) => (one.id === call.id ? call : one)) } : answer;
}

/** Items come one after the other: what comes belongs to the last call. */
function extended(answer: AnswerMessage, delta: string) {
	return answer.calls.map((call, at) =>
		at === answer.calls.length - 1 ? { ...call, arguments: call.arguments + delta } : call
	);
}

function textOf(value: unknown): string {
	return typeof value === 'string' ? value : '';
}

function progressOf(data: Data): PromptProgress | null {
	const { total, cache, processed, time_ms: elapsed } = (data.prompt_progress ?? data) as Record<string, unknown>;
	if (typeof total !== 'number' || typeof processed !== 'number') return null;
	return { total, processed, cached: Number(cache ?? 0), elapsedMs: Number(elapsed ?? 0) };
}
