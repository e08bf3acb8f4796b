import type { AnswerMessage, Message, ToolMessage, UserMessage } from '$lib/chat_types';

/** One answer with those that continue it, and the results of its calls. */
export interface AnswerStep {
	/** At least one. */
	answers: AnswerMessage[];
	results: ToolMessage[];
}

/** What one side says until it is the other's turn. `id` is the id of its first message. */
export type Turn =
	| { kind: 'user'; id: string; message: UserMessage }
	| { kind: 'answer'; id: string; steps: AnswerStep[] };

export type AnswerTurn = Extract<Turn, { kind: 'answer' }>;

/**
 * The turns of a branch: messages in the order of the conversation. A turn whose messages are the same objects as in
 * `earlier` is the same object, so that nothing of it is rendered again.
 */
export function turnsOf(branch: readonly Message[], earlier: readonly Turn[] = []): Turn[] {
	const turns: Turn[] = [];
	for (const message of branch) {
		if (message.role === 'user') {
			turns.push({ kind: 'user', id: message.id, message });
			continue;
		}
		let turn = turns.at(-1);
		if (turn?.kind !== 'answer') {
			turn = { kind: 'answer', id: message.id, steps: [] };
			turns.push(turn);
		}
		addTo(turn, message);
	}
	const known = new Map(earlier.map((turn) => [turn.id, turn]));
	return turns.map((turn) => {
		const before = known.get(turn.id);
		return before && isSame(before, turn) ? before : turn;
	});
}

function addTo(turn: AnswerTurn, message: AnswerMessage | ToolMessage): void {
	const step = turn.steps.at(-1);
	if (message.role === 'tool') {
		step?.results.push(message); // a result without an answer before it has no call
	} else if (step && message.continues !== null && step.answers.at(-1)?.id === message.continues) {
		step.answers.push(message);
	} else {
		turn.steps.push({ answers: [message], results: [] });
	}
}

function isSame(one: Turn, other: Turn): boolean {
	const [a, b] = [messagesOf(one), messagesOf(other)];
	return a.length === b.length && a.every((message, place) => message === b[place]);
}

/** The messages of a turn, in their order. */
export function messagesOf(turn: Turn): Message[] {
	return turn.kind === 'user' ? [turn.message] : turn.steps.flatMap((step) => [...step.answers, ...step.results]);
}

/** The latest answer of a turn, of which the turn has the state. */
export function lastAnswer(turn: AnswerTurn): AnswerMessage | undefined {
	return turn.steps.at(-1)?.answers.at(-1);
}

/** The text of a step: that of an answer, and of those that continue it. */
export function textOf(step: AnswerStep): string {
	return step.answers.map(({ text }) => text).join('');
}

/** The text of a turn, as it is copied. */
export function textOfTurn(turn: Turn): string {
	if (turn.kind === 'user') return turn.message.text;
	return turn.steps.map(textOf).filter(Boolean).join('\n\n');
}

/** Whether the answer may still change. */
export function isLive(answer: AnswerMessage): boolean {
	return answer.status === 'sending' || answer.status === 'waiting' || answer.status === 'running';
}

/** Whether a person may let the model go on where this answer ends. */
export function mayContinue(answer: AnswerMessage): boolean {
	const isPartial = answer.status === 'cut' || answer.status === 'stopped' || answer.status === 'failed' || answer.status === 'lost';
	return isPartial && answer.text !== '' && answer.calls.length === 0;
}
