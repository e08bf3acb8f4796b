import type { AnswerMessage, Message } from '$lib/chat_types';

/** One answer with those that continue it, and the results of its calls: ids of messages. */
export interface AnswerStep {
	/** At least one. */
	answers: string[];
	results: string[];
}

/** What one side says until it is the other's turn. `id` is the id of its first message. */
export type Turn = { kind: 'user'; id: string } | AnswerTurn;
export interface AnswerTurn {
	kind: 'answer';
	id: string;
	steps: AnswerStep[];
}

/**
 * The turns of a branch: messages in the order of the conversation, of which only the ids and the kinds count. A turn with
 * the same messages as in `earlier` is the same object, so that nothing of it is rendered again.
 */
export function turnsOf(branch: readonly Message[], earlier: readonly Turn[] = []): Turn[] {
	const turns: Turn[] = [];
	for (const message of branch) {
		if (message.role === 'user') {
			turns.push({ kind: 'user', id: message.id });
			continue;
		}
		let turn = turns.at(-1);
		if (turn?.kind !== 'answer') {
			if (message.role === 'tool') continue; // a result without an answer before it has no call
			turn = { kind: 'answer', id: message.id, steps: [] };
			turns.push(turn);
		}
		const step = turn.steps.at(-1);
		if (message.role === 'tool') step?.results.push(message.id);
		else if (step && message.continues !== null && step.answers.at(-1) === message.continues) step.answers.push(message.id);
		else turn.steps.push({ answers: [message.id], results: [] });
	}
	const known = new Map(earlier.map((turn) => [turn.id, turn]));
	return turns.map((turn) => {
		const before = known.get(turn.id);
		return before && String(idsOf(before)) === String(idsOf(turn)) ? before : turn;
	});
}

/** The ids of the messages of a turn, in their order. */
export function idsOf(turn: Turn): string[] {
	return turn.kind === 'user' ? [turn.id] : turn.steps.flatMap((step) => [...step.answers, ...step.results]);
}

/** The id of the latest answer of a turn, of which the turn has the state. */
export function lastAnswerId(turn: AnswerTurn): string {
	return turn.steps.at(-1)?.answers.at(-1) ?? turn.id;
}

/** The text of a turn, as it is copied; `read` gives the messages. */
export function textOfTurn(turn: Turn, read: (id: string) => Message | undefined): string {
	if (turn.kind === 'user') return textOf([turn.id], read);
	return turn.steps
		.map((step) => textOf(step.answers, read))
		.filter(Boolean)
		.join('\n\n');
}

/** The text of an answer and of those that continue it. */
export function textOf(ids: readonly string[], read: (id: string) => Message | undefined): string {
	return ids
		.map((id) => {
			const message = read(id);
			return message && message.role !== 'tool' ? message.text : '';
		})
		.join('');
}

/**
 * Whether an answer can be continued: it has text, no calls, and did not come to its end; or it was to continue one, and was
 * stopped before it had any.
 */
export function canContinue(message: Message): boolean {
	if (message.role !== 'assistant' || message.calls.length > 0 || message.media) return false;
	if (message.text === '') return message.continues !== null && message.status === 'stopped';
	return ['cut', 'stopped', 'failed', 'lost'].includes(message.status);
}

/** Whether the answer may still change. */
export function isLive(answer: AnswerMessage): boolean {
	return answer.status === 'sending' || answer.status === 'waiting' || answer.status === 'running';
}
