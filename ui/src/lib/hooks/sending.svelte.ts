import { onDestroy, untrack } from 'svelte';
import { asProblem, type ApiProblem } from '$lib/services/call';

/** The request of a form or dialog, one at a time. */
export interface Sending {
	readonly isSending: boolean;
	/** Why the request was refused. */
	readonly problem: ApiProblem | undefined;
	/**
	 * Send a request, unless one is under way. `ondone` gets the answer, and whether the form that sent it is still open: if it was
	 * closed meanwhile, another one may be open in its place, which the answer must not close.
	 */
	send<T>(request: () => Promise<T>, ondone: (answer: T, isOpen: boolean) => void): Promise<void>;
}

/** `isOpen` is needed by a dialog that is opened several times; a form that goes with its dialog has none. */
export function useSending(isOpen: () => boolean = () => true): Sending {
	let opening = 0;
	let isSending = $state(false);
	let problem: ApiProblem | undefined = $state.raw();

	function close(): void {
		opening += 1;
		isSending = false;
		problem = undefined;
	}
	$effect.pre(() => {
		if (!isOpen()) untrack(close);
	});
	onDestroy(close);

	return {
		get isSending() {
			return isSending;
		},
		get problem() {
			return problem;
		},
		async send(request, ondone) {
			if (isSending) return;
			const mine = opening;
			isSending = true;
			problem = undefined;
			try {
				ondone(await request(), mine === opening);
			} catch (error) {
				if (mine === opening) problem = asProblem(error);
			}
			if (mine === opening) isSending = false;
		}
	};
}
