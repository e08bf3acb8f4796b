import type { AnswerMessage, Message } from '$lib/chat_types';

/** Two answers of two models to the same message. */
export interface Pair {
	first: AnswerMessage;
	second: AnswerMessage;
}

/**
 * The pair that an answer belongs to: the latest answer of the other model beside it. `siblings` are all messages with the
 * same parent, in any order. Null if only one of both models has answered, or the shown message is no answer of its own.
 */
export function pairOf(siblings: readonly Message[], shown: Message | undefined): Pair | null {
	if (shown?.role !== 'assistant') return null;
	const partner = siblings
		.filter(
			(one): one is AnswerMessage =>
				one.role === 'assistant' && one.parent === shown.parent && one.isSecond !== shown.isSecond
		)
		.reduce<AnswerMessage | null>((latest, one) => (latest && latest.createdAt > one.createdAt ? latest : one), null);
	if (partner === null) return null;
	return shown.isSecond ? { first: partner, second: shown } : { first: shown, second: partner };
}

/** Which of two answers was measured to be better, by name; null: neither, or one is not measured. */
export function betterOf(pair: Pair, measure: (answer: AnswerMessage) => number | null, least = false): 'first' | 'second' | null {
	const first = measure(pair.first);
	const second = measure(pair.second);
	if (first === null || second === null || first === second) return null;
	return first > second !== least ? 'first' : 'second';
}
