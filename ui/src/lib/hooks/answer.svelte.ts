import { untrack } from 'svelte';
import { asProblem, type ApiProblem } from '$lib/services/call';

/** So long after the last change the platform is asked. */
const PAUSE_MS = 400;

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
 * the answer stays. `ask` raises `ApiProblem`.
 */
export function useAnswer<T>(
	question: () => string | undefined,
	ask: (question: string) => Promise<T>
): Answer<T> {
	let value: T | undefined = $state.raw();
	let problem: ApiProblem | undefined = $state.raw();
	let attempt = $state(0);
	const asked = $derived(question());

	/** The question before: the platform answers what it has begun, and is asked one thing at a time. */
	let before: Promise<unknown> = Promise.resolve();

	async function read(text: string, signal: AbortSignal): Promise<void> {
		await before;
		if (signal.aborted) return;
		const asking = ask(text);
		before = asking.catch(() => undefined);
		try {
			const found = await asking;
			if (!signal.aborted) value = found;
		} catch (error) {
			const found = asProblem(error);
			if (!signal.aborted) problem = found;
		}
	}

	function begin(text: string | undefined): (() => void) | undefined {
		value = problem = undefined;
		if (text === undefined) return undefined;
		const stop = new AbortController();
		const timer = setTimeout(() => void read(text, stop.signal), PAUSE_MS);
		return () => {
			clearTimeout(timer);
			stop.abort();
		};
	}

	$effect(() => {
		const text = asked;
		void attempt;
		return untrack(() => begin(text));
	});
	return {
		get value() {
			return value;
		},
		get problem() {
			return problem;
		},
		refresh: () => (attempt += 1)
	};
}
