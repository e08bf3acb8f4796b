import { asProblem, type ApiProblem } from '$lib/services/call';
import { now } from '$lib/services/format';
import { session } from '$lib/stores/session.svelte';

const LONGEST_WAIT_MS = 15_000;

/**
 * A value of the API that is read again and again. `stale`: the last reading failed, and `value` is that of `staleSince`;
 * `refused`: the session may not read it, or there is no such thing.
 */
export class Polled<T> {
	value: T | undefined = $state.raw();
	state: 'loading' | 'live' | 'stale' | 'refused' = $state('loading');
	staleSince: Date | undefined = $state();
	problem: ApiProblem | undefined = $state.raw();
	#reading = 0;
	/** It grows when a value that was refused is asked for again, which begins the polling again. */
	attempt = $state(0);
	#lastAt = now();

	constructor(readonly read: () => Promise<T>) {}

	/** Read now. An answer that comes after that of a later reading counts no more. */
	async refresh(): Promise<void> {
		if (this.state === 'refused') {
			this.state = 'loading';
			this.attempt += 1;
			return;
		}
		await this.accept(this.read());
	}

	/** The reading that has begun counts no more. */
	drop(): void {
		this.#reading += 1;
	}

	/** Take the result of a reading that has begun. */
	async accept(reading: Promise<T>): Promise<void> {
		const number = ++this.#reading;
		try {
			const value = await reading;
			if (number !== this.#reading) return;
			this.value = value;
			this.state = 'live';
			this.staleSince = this.problem = undefined;
			this.#lastAt = now();
		} catch (error) {
			const problem = asProblem(error);
			if (number !== this.#reading) return;
			this.problem = problem;
			const isRefused = problem.status >= 400 && problem.status < 500 && problem.status !== 429;
			this.state = isRefused ? 'refused' : 'stale';
			if (problem.status === 401 || problem.status === 403) void session.read(); // its time may be over
			this.staleSince ??= this.#lastAt;
		}
	}
}

/**
 * Poll in a component: while it is mounted and its tab is visible, every `everyMs`; at once when the tab becomes visible, and
 * when the state changes that `read` uses before its first `await`, and after a sign-in. After a failure the pauses grow, and follow
 * `Retry-After`.
 */
export function usePolled<T>(read: () => Promise<T>, everyMs = 2_000): Polled<T> {
	const polled = new Polled(read);
	$effect(() => {
		void polled.attempt;
		void session.signIns;
		if (session.isLeaving) return polled.drop();
		let timer: ReturnType<typeof setTimeout> | undefined;
		/** The number of the latest round: an earlier one, whose reading took long, goes on no more. */
		let round = 0;
		let wait = everyMs;

		async function next(reading: Promise<T>): Promise<void> {
			const mine = ++round;
			await polled.accept(reading);
			if (mine !== round) return;
			wait = polled.state === 'live' ? everyMs : Math.min(wait * 2, LONGEST_WAIT_MS);
			if (document.hidden || polled.state === 'refused') return;
			timer = setTimeout(() => void next(read()), Math.max(wait, (polled.problem?.retryAfter ?? 0) * 1_000));
		}

		function onVisible(): void {
			clearTimeout(timer);
			if (!document.hidden) void next(read());
		}

		document.addEventListener('visibilitychange', onVisible);
		void next(read());
		return () => {
			round += 1;
			clearTimeout(timer);
			document.removeEventListener('visibilitychange', onVisible);
		};
	});
	return polled;
}
