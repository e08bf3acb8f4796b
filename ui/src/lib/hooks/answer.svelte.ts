import { untrack } from 'svelte';
import { Asking, type Answered } from '$lib/services/asking';
import type { ApiProblem } from '$lib/services/call';

export interface Answer<T> {
	/** The answer to the present question; undefined while it is asked, and when it was refused. */
	readonly value: T | undefined;
	readonly problem: ApiProblem | undefined;
	/** Ask again now: what is free and what runs changes by itself. */
	refresh: () => void;
}

/**
 * The answer to a question in a component, asked a moment after the question has changed; undefined: nothing is asked. An answer
 * to an earlier question counts no more. What `question` reads may be replaced by equal values, as each reading of a model does:
 * the answer stays. With `everyMs` the same question is asked again and again while the tab is seen: an answer stays until the
 * next one has come. `ask` raises `ApiProblem`.
 */
export function useAnswer<T>(
	question: () => string | undefined,
	ask: (question: string) => Promise<T>,
	everyMs?: number
): Answer<T> {
	let answer: Answered<T> = $state.raw({});
	let attempt = $state(0);
	const asked = $derived(question());
	const asking = new Asking({ ask, onanswer: (found) => (answer = found), everyMs, mayRepeat: () => !document.hidden });

	$effect(() => {
		const text = asked;
		void attempt;
		return untrack(() => {
			answer = {};
			return text === undefined ? undefined : asking.begin(text);
		});
	});
	return {
		get value() {
			return answer.value;
		},
		get problem() {
			return answer.problem;
		},
		refresh: () => (attempt += 1)
	};
}
