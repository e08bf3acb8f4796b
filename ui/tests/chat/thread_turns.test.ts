import { describe, expect, it } from 'vitest';
import type { AnswerMessage, Message, ToolMessage, UserMessage } from '$lib/chat_types';
import { lastAnswer, mayContinue, textOfTurn, turnsOf, type AnswerTurn } from '$lib/services/chat/turns';
import { waitOf } from '$lib/services/chat/waiting';
import { short, span } from '$lib/services/chat/numbers';

const base = { conversation: 'c', parent: null, createdAt: 0, itemIds: [] };

function user(id: string): UserMessage {
	return { ...base, id, role: 'user', text: `text of ${id}`, attachments: [] };
}

function answer(id: string, more: Partial<AnswerMessage> = {}): AnswerMessage {
	const times = { sentAt: 0, firstTokenMs: null, totalMs: null, tokensPerSecond: null };
	return {
		...base, id, role: 'assistant', model: 'm', status: 'done', text: `text of ${id}`, reasoning: '', reasoningMs: null,
		calls: [], responseId: null, usage: null, times, error: null, continues: null, isSecond: false, ...more
	};
}

function result(id: string): ToolMessage {
	return { ...base, id, role: 'tool', callId: `call-${id}`, name: 'n', output: 'o', isError: false };
}

describe('the turns of a branch', () => {
	it('joins an answer with its continuation, and with the answers after its calls', () => {
		const branch: Message[] = [user('u'), answer('a', { status: 'cut' }), answer('b', { continues: 'a' }), result('r'), answer('c'), user('v')];
		const turns = turnsOf(branch);
		expect(turns.map(({ kind, id }) => [kind, id])).toEqual([['user', 'u'], ['answer', 'a'], ['user', 'v']]);
		const turn = turns[1] as AnswerTurn;
		expect(turn.steps.map((step) => [step.answers.map(({ id }) => id), step.results.map(({ id }) => id)])).toEqual([
			[['a', 'b'], ['r']],
			[['c'], []]
		]);
		expect(lastAnswer(turn)?.id).toBe('c');
		expect(textOfTurn(turn)).toBe('text of atext of b\n\ntext of c');
	});

	it('keeps the turns that have not changed', () => {
		const [first, second] = [user('u'), answer('a', { status: 'running' })];
		const before = turnsOf([first, second]);
		const after = turnsOf([first, { ...second, text: 'more' }], before);
		expect(after[0]).toBe(before[0]);
		expect(after[1]).not.toBe(before[1]);
	});

	it('offers to continue what has text and has not ended by itself', () => {
		expect(mayContinue(answer('a', { status: 'cut' }))).toBe(true);
		expect(mayContinue(answer('a', { status: 'failed', text: '' }))).toBe(false);
		expect(mayContinue(answer('a'))).toBe(false);
		expect(mayContinue(answer('a', { status: 'stopped', calls: [{ id: 'x', name: 'n', arguments: '' }] }))).toBe(false);
	});
});

describe('what an answer waits for', () => {
	const place = { position: 2, positionIsEstimate: false, queueDepth: 5, estimatedWaitMs: 4000, reason: 'waiting for a slot' };

	it('is the place in the queue with its estimate', () => {
		expect(waitOf('waiting', place, null)).toEqual({ kind: 'queue', position: 2, isEstimate: false, depth: 5, estimateMs: 4000 });
	});

	it('is the load of the model with its share', () => {
		expect(waitOf('waiting', { ...place, reason: 'model is loading 41 %' }, null)).toEqual({ kind: 'loading', share: 0.41, estimateMs: 4000 });
		expect(waitOf('waiting', { ...place, reason: 'model is loading' }, null)).toMatchObject({ share: null });
	});

	it('is another reason in the words of the platform', () => {
		expect(waitOf('waiting', { ...place, reason: 'the engine is restarting' }, null)).toEqual({ kind: 'other', reason: 'the engine is restarting' });
	});

	it('is the prompt while no token has come', () => {
		expect(waitOf('running', null, { done: 30, total: 40 })).toEqual({ kind: 'reading', share: 0.75 });
		expect(waitOf('running', null, { done: 0, total: 0 })).toEqual({ kind: 'reading', share: null });
		expect(waitOf('done', null, null)).toBeNull();
	});
});

describe('numbers', () => {
	it('are written in the language', () => {
		expect(span(420, 'en')).toBe('0.4 s');
		expect(span(420, 'de')).toBe('0,4 s');
		expect(span(125_400, 'en')).toBe('2 min 5 s');
		expect(span(59_700, 'en')).toBe('1 min 0 s');
		expect(span(3_780_000, 'en')).toBe('1 h 3 min');
		expect(short(8192, 'en')).toBe('8.2K');
	});
});
