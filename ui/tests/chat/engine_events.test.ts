import { expect, test } from 'vitest';
import type { AnswerMessage } from '../../src/lib/chat_types';
import { readEvent } from '../../src/lib/services/chat/answer_events';
import { newAnswer } from '../../src/lib/services/chat/new_records';
import { withResponse } from '../../src/lib/services/chat/response';
import { titleOf } from '../../src/lib/services/chat/title';

const CREATED = { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress' } };

function answer(): AnswerMessage {
	return newAnswer('c', 'u', 'stub', { times: { sentAt: 1_000, firstTokenMs: null, totalMs: null, tokensPerSecond: null } });
}

/** The answer after these events, 10 ms apart. */
function after(events: Record<string, unknown>[]): { answer: AnswerMessage; isEnd: boolean } {
	let state = { answer: answer(), isEnd: false };
	let since: number | null = null;
	events.forEach((event, at) => {
		const now = 1_010 + at * 10;
		const before = state.answer.reasoning;
		state = readEvent(state.answer, event, now, since);
		if (before === '' && state.answer.reasoning !== '') since = now;
	});
	return state;
}

test('an answer waits from the first event on, and runs from the first item on', () => {
	expect(after([CREATED]).answer).toMatchObject({ status: 'waiting', responseId: 'resp_1' });
	const item = { type: 'response.output_item.added', item: { type: 'message', content: [] } };
	expect(after([CREATED, item]).answer.status).toBe('running');
});

test('reasoning is kept beside the text, with its time', () => {
	const found = after([
		CREATED,
		{ type: 'response.output_item.added', item: { type: 'reasoning' } },
		{ type: 'response.reasoning_text.delta', delta: 'Let me ' },
		{ type: 'response.reasoning_text.delta', delta: 'see.' },
		{ type: 'response.output_item.added', item: { type: 'message' } },
		{ type: 'response.output_text.delta', delta: '7' }
	]).answer;
	expect(found).toMatchObject({ reasoning: 'Let me see.', text: '7', reasoningMs: 30, status: 'running' });
	expect(found.times.firstTokenMs).toBe(30);
});

test('arguments belong to the call that is written, and its end has them whole', () => {
	const added = (id: string, name: string) => ({
		type: 'response.output_item.added',
		item: { type: 'function_call', call_id: id, name, arguments: '' }
	});
	const found = after([
		CREATED,
		added('call_1', 'weather'),
		{ type: 'response.function_call_arguments.delta', delta: '{"city":' },
		{ type: 'response.output_item.done', item: { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' } },
		added('call_2', 'time'),
		{ type: 'response.function_call_arguments.delta', delta: '{}' }
	]).answer;
	expect(found.calls).toEqual([
		{ id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' },
		{ id: 'call_2', name: 'time', arguments: '{}' }
	]);
});

test('the last event has the whole response, and ends the answer', () => {
	const response = {
		id: 'resp_1',
		status: 'incomplete',
		output: [{ type: 'message', content: [{ type: 'output_text', text: 'all of it' }] }],
		usage: { input_tokens: 5, output_tokens: 3, input_tokens_details: { cached_tokens: 2 } }
	};
	const measurements = { queue_wait_ms: 100, gpu_time_ms: 300, first_output_ms: 100 };
	const { answer, isEnd } = after([CREATED, { type: 'response.incomplete', response, measurements }]);
	expect(isEnd).toBe(true);
	expect(answer).toMatchObject({ status: 'cut', text: 'all of it' });
	expect(answer.usage).toEqual({ inputTokens: 5, cachedTokens: 2, outputTokens: 3, reasoningTokens: 0 });
	expect(answer.times).toMatchObject({ firstTokenMs: 200, totalMs: 400, tokensPerSecond: 10 });
});

test('an answer that failed keeps its text, and has the code of the platform', () => {
	const error = { code: 'server_error', message: 'engine_crashed: the engine process died' };
	const failed = { type: 'response.failed', response: { id: 'resp_1', status: 'failed', output: [], error } };
	const { answer, isEnd } = after([CREATED, { type: 'response.output_text.delta', delta: 'half' }, failed]);
	expect(isEnd).toBe(true);
	expect(answer).toMatchObject({ status: 'failed', text: 'half' });
	expect(answer.error).toEqual({ code: 'engine_crashed', message: 'the engine process died', param: null, retryAfter: null });
});

test('a response that was cancelled has stopped', () => {
	expect(withResponse(answer(), { status: 'cancelled', output: [] }).status).toBe('stopped');
});

test('progress of the prompt is read, and an unknown event changes nothing', () => {
	const progress = { total: 1000, cache: 200, processed: 512, time_ms: 130 };
	const read = readEvent(answer(), { type: 'response.prompt_progress', prompt_progress: progress }, 0, null);
	expect(read.progress).toEqual({ total: 1000, cached: 200, processed: 512, elapsedMs: 130 });
	const before = answer();
	expect(readEvent(before, { type: 'response.of_the_future' }, 0, null).answer).toBe(before);
});

test('a title is the beginning of the first line that says something', () => {
	expect(titleOf('\n\n# Hello  there\nmore')).toBe('Hello there');
	expect(titleOf('', 'report.pdf')).toBe('report.pdf');
	expect(titleOf(`${'word '.repeat(30)}`)).toBe(`${'word '.repeat(12).trim()}…`);
});
