import { asProblem, type ApiProblem } from '$lib/services/call';
import { asksFirst, cancelLoad, planUnload, unload, type UnloadPlan } from '$lib/services/load_calls';
import type { Action, Model } from '$lib/services/models';

/**
 * The actions on the models of a page. What they ask is shown by the page's one `ModelDialogs`, which stays when the row of a
 * model goes, as by a filter.
 */
export class ModelControls {
	/** The load that the form is about: the model as it was when its button was pressed. */
	form: { model: Model; repairs: boolean } | undefined = $state.raw();
	isFormOpen = $state(false);
	/** The unloads to confirm, one after the other. */
	unloads: readonly UnloadPlan[] = $state.raw([]);
	#problems: Readonly<Record<string, ApiProblem | undefined>> = $state.raw({});
	/** The models whose requests are under way. */
	#busy: readonly string[] = [];

	/** Why the last action on a model was refused. */
	problemOf(name: string): ApiProblem | undefined {
		return this.#problems[name];
	}

	/** Do what a button of a model asks for, after a question where it has one. */
	begin(action: Action, model: Model): void {
		const { name, operation_id: operation } = model;
		this.#setProblem(name, undefined);
		if (action === 'load' || action === 'repair') {
			this.form = { model, repairs: action === 'repair' };
			this.isFormOpen = true;
		} else if (action === 'cancel') {
			if (operation) void this.#attempt(name, () => cancelLoad(operation));
		} else if (action === 'dismiss') {
			void this.#attempt(name, () => unload(name));
		} else {
			void this.#attempt(name, async () => {
				const plan = await planUnload(name);
				if (asksFirst(plan)) this.unloads = [...this.unloads, plan];
				else await unload(name);
			});
		}
	}

	/** Begin the unload that was confirmed. */
	confirm({ modelId }: UnloadPlan): void {
		void this.#attempt(modelId, () => unload(modelId));
	}

	/** The question about an unload is answered. */
	close(plan: UnloadPlan): void {
		this.unloads = this.unloads.filter((one) => one !== plan);
	}

	async #attempt(name: string, work: () => Promise<void>): Promise<void> {
		if (this.#busy.includes(name)) return;
		this.#busy = [...this.#busy, name];
		this.#setProblem(name, undefined);
		try {
			await work();
		} catch (error) {
			this.#setProblem(name, asProblem(error));
		} finally {
			this.#busy = this.#busy.filter((one) => one !== name);
		}
	}

	#setProblem(name: string, problem: ApiProblem | undefined): void {
		this.#problems = { ...this.#problems, [name]: problem };
	}
}
