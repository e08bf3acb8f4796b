import { SvelteMap } from 'svelte/reactivity';
import { ApiProblem, asProblem } from '$lib/services/call';
import { loadModel, readDefaults, readModels, type ChatModel } from '$lib/services/chat/chat_models';
import type { Defaults } from '$lib/services/chat/parameters';
import { session } from '$lib/stores/session.svelte';

/** Pauses between two readings of the list, in ms: while a model changes its state, else, and after a failure. */
const BUSY_MS = 2_000;
const CALM_MS = 20_000;
const FAILED_MS = 10_000;

/** The models that this session may use. The list is read again and again while it is followed and the tab is visible. */
class ModelStore {
	list: ChatModel[] = $state.raw([]);
	/** `stale`: the last reading failed, and `list` is that of the one before. */
	state: 'reading' | 'live' | 'stale' = $state('reading');
	problem: ApiProblem | null = $state.raw(null);
	#defaults = new SvelteMap<string, Defaults>();
	#followers = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#reading: Promise<void> | undefined;

	find(name: string | null): ChatModel | undefined {
		return name === null ? undefined : this.list.find((model) => model.name === name);
	}

	/** Whether the list is known and lacks the model. */
	isGone(name: string): boolean {
		return this.state === 'live' && !this.find(name);
	}

	/** The defaults of a loaded model that were read; undefined before. */
	defaults(model: ChatModel | undefined): Defaults | undefined {
		return model && this.#defaults.get(keyOf(model));
	}

	/** Read the defaults of a model if they are not known: once for each load. A model that tells none has none. */
	async readDefaults(model: ChatModel): Promise<void> {
		if (model.state !== 'loaded' || this.#defaults.has(keyOf(model))) return;
		try {
			this.#defaults.set(keyOf(model), await readDefaults(model.name));
		} catch (error) {
			asProblem(error); // it may be unloaded by now: the next reading of the list says so
		}
	}

	/** Load a model now. Returns the refusal, if there is one. */
	async load(name: string): Promise<ApiProblem | null> {
		try {
			await loadModel(name);
			return null;
		} catch (error) {
			return asProblem(error);
		} finally {
			await this.refresh();
		}
	}

	/** Keep the list fresh. Returns what ends it. */
	follow(): () => void {
		this.#followers += 1;
		if (this.#followers === 1) {
			document.addEventListener('visibilitychange', this.#onVisible);
			this.#onVisible();
		}
		let isDone = false;
		return () => {
			if (isDone) return;
			isDone = true;
			this.#followers -= 1;
			if (this.#followers > 0) return;
			document.removeEventListener('visibilitychange', this.#onVisible);
			clearTimeout(this.#timer);
		};
	}

	/** Read the list now; calls meanwhile wait for the same reading. */
	refresh(): Promise<void> {
		this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
		return this.#reading;
	}

	async #read(): Promise<void> {
		clearTimeout(this.#timer);
		try {
			this.list = await readModels();
			this.state = 'live';
			this.problem = null;
		} catch (error) {
			this.problem = asProblem(error);
			this.state = 'stale';
			if (this.problem.status === 401 || this.problem.status === 403) void session.read();
		}
		if (this.#followers > 0 && !document.hidden) this.#timer = setTimeout(() => void this.refresh(), this.#pause());
	}

	#pause(): number {
		if (this.problem) return Math.max(FAILED_MS, (this.problem.retryAfter ?? 0) * 1_000);
		return this.list.some(({ state }) => state === 'loading' || state === 'unloading') ? BUSY_MS : CALM_MS;
	}

	#onVisible = (): void => {
		clearTimeout(this.#timer);
		if (!document.hidden) void this.refresh();
	};
}

function keyOf(model: ChatModel): string {
	return `${model.loadedAt} ${model.name}`;
}

export const models = new ModelStore();
