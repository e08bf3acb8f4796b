import { expect, test } from 'vitest';
import type { AnswerMessage, Message } from '../../src/lib/chat_types';
import { betterOf, pairOf } from '../../src/lib/services/chat/comparison';

function answer(id: string, createdAt: number, isSecond: boolean, parent = 'question'): AnswerMessage {
	return { id, parent, createdAt, isSecond, role: 'assistant', times: {} } as AnswerMessage;
}

const FIRST = answer('a1', 1, false);
const SECOND = answer('b1', 2, true);
const AGAIN = answer('a2', 3, false);
const USER = { id: 'u', role: 'user', parent: 'question' } as Message;

test('an answer has the latest one of the other model beside it', () => {
	const siblings = [AGAIN, USER, SECOND, FIRST];
	expect(pairOf(siblings, FIRST)).toEqual({ first: FIRST, second: SECOND });
	expect(pairOf(siblings, SECOND)).toEqual({ first: AGAIN, second: SECOND });
});

test('an answer of one model alone has no pair', () => {
	expect(pairOf([FIRST, AGAIN], FIRST)).toBeNull();
	expect(pairOf([FIRST, answer('b2', 4, true, 'other')], FIRST)).toBeNull();
	expect(pairOf([FIRST, SECOND], USER)).toBeNull();
	expect(pairOf([FIRST, SECOND], undefined)).toBeNull();
});

test('the faster of two answers is named as soon as both are measured', () => {
	const pair = { first: FIRST, second: SECOND };
	const speeds = new Map([
		[FIRST, 20],
		[SECOND, 30]
	]);
	expect(betterOf(pair, (one) => speeds.get(one) ?? null)).toBe('second');
	expect(betterOf(pair, (one) => speeds.get(one) ?? null, true)).toBe('first');
	expect(betterOf(pair, () => 5)).toBeNull();
	expect(betterOf(pair, (one) => (one === FIRST ? 5 : null))).toBeNull();
});
