/** Does `work` at most once in so many ms: at once after a pause, and at the end of a busy time. */
export class Throttle {
	#timer: ReturnType<typeof setTimeout> | undefined;
	#isDue = false;

	constructor(
		readonly everyMs: number,
		readonly work: () => void
	) {}

	/** Something has changed. */
	touch(): void {
		if (this.#timer !== undefined) {
			this.#isDue = true;
			return;
		}
		this.work();
		this.#wait();
	}

	/** Do now what is due. */
	flush(): void {
		if (!this.#isDue) return;
		this.#isDue = false;
		this.work();
	}

	/** Forget what is due. */
	stop(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#isDue = false;
	}

	#wait(): void {
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			if (!this.#isDue) return;
			this.#isDue = false;
			this.work();
			this.#wait();
		}, this.everyMs);
	}
}
