import { asProblem } from '$lib/services/call';
import { changeDrain, isDrained, modelsOf, servedHereOnly, type Worker } from '$lib/services/workers';

/**
 * The actions on the workers of a page. What they ask is shown by the page's one `WorkerDialogs`, which stays when the row of a
 * worker goes, as by a filter.
 */
export class WorkerControls {
	/** The worker that the question about a drain is about, as it was when its button was pressed. */
	drained: Worker | undefined = $state.raw();
	asksToDrain = $state(false);
	/** Whether the drain is to be ended. */
	endsDrain = $state(false);
	problem: string | undefined = $state();
	/** The models to unload, as they were when it was asked for. */
	unloaded: readonly string[] | undefined = $state.raw();
	#isBusy = false;

	/** `onchange`: called when something was changed. */
	constructor(readonly onchange: () => void) {}

	/**
	 * Drain a worker, or end its drain. It can be taken back, so it is asked for only where it costs something: where models have no
	 * other worker. A refusal is shown in the same dialog.
	 */
	async drain(worker: Worker, workers: readonly Worker[]): Promise<void> {
		this.drained = worker;
		this.endsDrain = isDrained(worker);
		this.problem = undefined;
		if (this.endsDrain || servedHereOnly(worker, workers).length > 0) this.asksToDrain = true;
		else await this.confirm();
	}

	/** Do what was asked for. */
	async confirm(): Promise<void> {
		if (!this.drained || this.#isBusy) return;
		this.#isBusy = true;
		this.problem = undefined;
		try {
			await changeDrain(this.drained.name, !this.endsDrain);
			this.asksToDrain = false;
			this.onchange();
		} catch (error) {
			this.problem = asProblem(error).message;
			this.asksToDrain = true;
		}
		this.#isBusy = false;
	}

	/** Ask to unload all models of a worker. */
	unload(worker: Worker): void {
		this.unloaded = modelsOf(worker);
	}
}
