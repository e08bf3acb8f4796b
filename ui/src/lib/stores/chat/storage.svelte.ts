import { untrack } from 'svelte';
import { askToPersist, readBudget, type Budget } from '$lib/storage/budget';
import { onOutdated } from '$lib/storage/database';

/**
 * Whether the browser keeps what the chat writes. `opening`: not read yet; `ready`; `full`: the last write was refused for
 * lack of space; `refused`: the browser stores nothing (a private window). What is not kept stays in this tab's memory.
 */
export type StorageState = 'opening' | 'ready' | 'full' | 'refused';

class ChatStorage {
	state: StorageState = $state('opening');
	/** What is used and granted; null while it is not known. */
	budget: Budget | null = $state.raw(null);
	/** There is a newer version of the page (another tab has it, or a file of this one has gone): it has to be loaded anew. */
	isOutdated = $state(false);
	#hasAsked = false;

	start(): () => void {
		void this.measure();
		return onOutdated(() => (this.isOutdated = true));
	}

	/** Do a write. A refusal by the browser is shown by `state`, and is no error of the caller. Returns whether it was done. */
	async write(work: () => Promise<void>): Promise<boolean> {
		try {
			await work();
			this.state = 'ready';
		} catch (error) {
			if (!(error instanceof DOMException)) throw error;
			this.state = error.name === 'QuotaExceededError' ? 'full' : 'refused';
			return false;
		}
		if (!this.#hasAsked) {
			this.#hasAsked = true;
			void askToPersist();
		}
		return true;
	}

	/** Do a read. Where the browser refuses, the answer is `otherwise`. */
	async read<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
		try {
			const value = await work();
			if (untrack(() => this.state) !== 'full') this.state = 'ready';
			return value;
		} catch (error) {
			if (!(error instanceof DOMException)) throw error;
			this.state = 'refused';
			return otherwise;
		}
	}

	/** Read how much is used. */
	async measure(): Promise<void> {
		this.budget = await readBudget();
	}
}

export const chatStorage = new ChatStorage();
