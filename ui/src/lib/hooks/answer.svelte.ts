import { untrack } from 'svelte';
import { asProblem, type ApiProblem } from '$lib/services/call';
import { planLoad, type LoadPlan } from '$lib/services/load_calls';

/** So long after the last change the plan is asked for. */
const PAUSE_MS = 400;

interface CurrentPlan {
	/** The plan of the present body; undefined while it is asked for, and when it was refused. */
	readonly value: LoadPlan | undefined;
	readonly problem: ApiProblem | undefined;
	/** Ask again now: what is free and what runs changes by itself. */
	refresh: () => void;
}

/**
 * The plan of a load in a component, asked for again a moment after the body (JSON; undefined: it is not complete) or the
 * model's state has changed. An answer to an earlier body counts no more. What the arguments read may be replaced by equal
 * values, as each reading of a model does: the plan stays.
 */
export function usePlan(name: () => string, body: () => string | undefined, state: () => string): CurrentPlan {
	let value: LoadPlan | undefined = $state.raw();
	let problem: ApiProblem | undefined = $state.raw();
	let attempt = $state(0);
	const key = $derived(JSON.stringify([name(), state(), body() ?? null]));

	async function read(sent: string, signal: AbortSignal): Promise<void> {
		try {
			const found = await planLoad(name(), JSON.parse(sent) as Record<string, unknown>, signal);
			if (!signal.aborted) value = found;
		} catch (error) {
			const found = asProblem(error);
			if (!signal.aborted) problem = found;
		}
	}

	function begin(): (() => void) | undefined {
		const sent = body();
		value = problem = undefined;
		if (sent === undefined) return undefined;
		const stop = new AbortController();
		const timer = setTimeout(() => void read(sent, stop.signal), PAUSE_MS);
		return () => {
			clearTimeout(timer);
			stop.abort();
		};
	}

	$effect(() => {
		void key;
		void attempt;
		return untrack(begin);
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
