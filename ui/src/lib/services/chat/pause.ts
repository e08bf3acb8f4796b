const wakers = new Set<() => void>();

/** End all pauses: the network is back, or somebody has signed in. */
export function wakeAll(): void {
	for (const wake of [...wakers]) wake();
}

/** Wait so many ms; less if `wakeAll` is called, the network is back, the page is shown again, or `signal` stops it. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal.aborted) {
			resolve();
			return;
		}
		const done = () => {
			clearTimeout(timer);
			wakers.delete(done);
			signal.removeEventListener('abort', done);
			resolve();
		};
		const timer = setTimeout(done, milliseconds);
		wakers.add(done);
		signal.addEventListener('abort', done);
	});
}

/** Pauses that grow from one failure to the next, at random so that tabs do not ask at the same moment. */
export class Backoff {
	#next: number;

	constructor(
		readonly first = 500,
		readonly longest = 15_000
	) {
		this.#next = first;
	}

	reset(): void {
		this.#next = this.first;
	}

	/** The next pause in ms, of at least so many seconds (`Retry-After`). */
	next(seconds = 0): number {
		const wait = this.#next;
		this.#next = Math.min(this.#next * 2, this.longest);
		return Math.max(seconds * 1_000, wait * (0.75 + Math.random() / 2));
	}
}
