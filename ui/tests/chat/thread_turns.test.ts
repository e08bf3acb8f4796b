import { describe, expect, it } from 'vitest';
import type { AnswerMessage, Message, ToolMessage, UserMessage } from '$lib/chat_types';
import { short, span } from '$lib/services/chat/numbers';
import { newAnswer } from '$lib/services/chat/new_records';
import { canContinue, lastAnswerId, textOfTurn, turnsOf, type AnswerTurn } from '$lib/services/chat/turns';
import { waitOf } from '$lib/services/chat/waiting';

const base = { conversation: 'c', parent: null, createdAt: 0, itemIds: [] };

function user(id: string): UserMessage {
	return { ...base, id, role: 'user', text: `text of ${id}`, attachments: [] };
}

function answer(id: string, more: Partial<AnswerMessage> = {}): AnswerMessage {
	const times = { sentAt: 0, firstTokenMs: null, totalMs: null, tokensPerSecond: null };
	return {
		...base,
		...{ id, role: 'assistant', model: 'm', status: 'done', text: `text of ${id}`, reasoning: '', reasoningMs: null },
		...{ calls: [], responseId: null, usage: null, times, error: null, continues: null, isSecond: false },
		...more
	};
}

function result(id: string): ToolMessage {
	return { ...base, id, role: 'tool', callId: `call-${id}`, name: 'n', output: 'o', isError: false };
}

describe('the turns of a branch', () => {
	it('join an answer with its continuation, and with the answers after its calls', () => {
		const branch: Message[] = [
			user('u'),
			answer('a', { status: 'cut' }),
			answer('b', { continues: 'a' }),
			result('r'),
			answer('c'),
			user('v')
		];
		const turns = turnsOf(branch);
		expect(turns.map(({ kind, id }) => [kind, id])).toEqual([
			['user', 'u'],
			['answer', 'a'],
			['user', 'v']
		]);
		const turn = turns[1] as AnswerTurn;
		expect(turn.steps).toEqual([
			{ answers: ['a', 'b'], results: ['r'] },
			{ answers: ['c'], results: [] }
		]);
		expect(lastAnswerId(turn)).toBe('c');
		const messages = new Map(branch.map((message) => [message.id, message]));
		expect(textOfTurn(turn, (id) => messages.get(id))).toBe('text of atext of b\n\ntext of c');
	});

	it('are the same objects while their messages are the same', () => {
		const before = turnsOf([user('u'), answer('a')]);
		const after = turnsOf([user('u'), answer('a'), answer('b')], before);
		expect(after[0]).toBe(before[0]);
		expect(after[1]).not.toBe(before[1]);
	});

	it('leave out the result of a call that no answer has', () => {
		expect(turnsOf([result('r'), user('u')])).toEqual([{ kind: 'user', id: 'u' }]);
	});
});

describe('an answer can be continued', () => {
	const answer = (given: Partial<AnswerMessage>) => newAnswer('c', 'u', 'stub', given);

	it('where it has text and did not come to its end', () => {
		for (const status of ['cut', 'stopped', 'failed', 'lost'] as const) expect(canContinue(answer({ status, text: 'So' }))).toBe(true);
		expect(canContinue(answer({ status: 'done', text: 'So.' }))).toBe(false);
		expect(canContinue(answer({ status: 'stopped' }))).toBe(false);
	});

	it('where it was stopped before it went on with a text', () => {
		expect(canContinue(answer({ status: 'stopped', continues: 'a' }))).toBe(true);
		expect(canContinue(answer({ status: 'failed', continues: 'a' }))).toBe(false); // it has "Try again"
	});
});

describe('what an answer waits for', () => {
	const place = { position: 2, isEstimate: false, estimateMs: 4000, reason: 'waiting for a slot', loadPercent: null };

	it('is the place in the queue with its estimate', () => {
		const queue = { kind: 'queue', position: 2, isEstimate: false, estimateMs: 4000 };
		expect(waitOf('waiting', place, null)).toEqual(queue);
	});

	it('is the load of the model with its share', () => {
		const loading = { ...place, reason: 'model is loading 41 %', loadPercent: 41 };
		expect(waitOf('waiting', loading, null)).toEqual({ kind: 'loading', share: 0.41, estimateMs: 4000 });
		expect(waitOf('waiting', { ...loading, loadPercent: null }, null)).toMatchObject({ share: null });
	});

	it('is the load of the model while its request is refused for it', () => {
		expect(waitOf('sending', null, null, { progress: 0.4, etaSeconds: 9 })).toEqual({ kind: 'loading', share: 0.4, estimateMs: 9000 });
		expect(waitOf('sending', null, null)).toEqual({ kind: 'sending' });
	});

	it('is another reason in the words of the platform', () => {
		const restarting = { ...place, reason: 'the engine is restarting' };
		expect(waitOf('waiting', restarting, null)).toEqual({ kind: 'other', reason: 'the engine is restarting' });
	});

	it('is the prompt while no token has come', () => {
		expect(waitOf('running', null, { processed: 30, total: 40 })).toEqual({ kind: 'reading', share: 0.75 });
		expect(waitOf('running', null, { processed: 0, total: 0 })).toEqual({ kind: 'reading', share: null });
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
