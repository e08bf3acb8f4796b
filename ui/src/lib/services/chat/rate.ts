/**
 * Tokens per second of a running answer. What comes with the first piece of a connection was written before it, so it does
 * not count.
 */
export class TokenRate {
	#since: number | null = null;
	#tokens = 0;

	/** A connection begins. */
	begin(): void {
		this.#since = null;
		this.#tokens = 0;
	}

	/** So many tokens have come. Returns the rate; null until it can be told. */
	add(tokens: number, now: number): number | null {
		if (tokens > 0) {
			if (this.#since === null) this.#since = now;
			else if (now > this.#since) this.#tokens += tokens;
		}
		const elapsed = this.#since === null ? 0 : now - this.#since;
		return elapsed >= 500 && this.#tokens > 0 ? (this.#tokens * 1_000) / elapsed : null;
	}
}
