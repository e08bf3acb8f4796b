import { SvelteMap } from 'svelte/reactivity';
import { putDraft, readDraft, removeDraft } from '$lib/storage/drafts';
import type { Draft } from '$lib/storage/records';
import { chatStorage } from './storage.svelte';

/** The id of the draft of a conversation that does not exist yet. */
export const NEW = 'new';
const WRITE_MS = 300;

/** What was typed and not sent, of each conversation: it is there again after a reload. */
class Drafts {
	#drafts = new SvelteMap<string, Draft>();
	#timers = new Map<string, ReturnType<typeof setTimeout>>();

	/** Read the draft of a conversation (`new`: the one to come). It is empty if nothing was typed. */
	async open(id: string): Promise<Draft> {
		const known = this.#drafts.get(id) ?? (await chatStorage.read(() => readDraft(id), undefined));
		const draft = this.#drafts.get(id) ?? known ?? { id, text: '', attachments: [], changedAt: 0 };
		if (!this.#drafts.has(id)) this.#drafts.set(id, draft);
		return draft;
	}

	get(id: string): Draft | undefined {
		return this.#drafts.get(id);
	}

	/** Keep this text and these attachments. */
	set(id: string, text: string, attachments: string[]): void {
		this.#drafts.set(id, { id, text, attachments: $state.snapshot(attachments), changedAt: Date.now() });
		clearTimeout(this.#timers.get(id));
		this.#timers.set(
			id,
			setTimeout(() => void this.#write(id), WRITE_MS)
		);
	}

	/** Forget it, once it was sent. */
	clear(id: string): void {
		this.set(id, '', []);
		void this.#write(id);
	}

	/** Write at once what waits: the page may end. */
	flush(): void {
		for (const id of this.#timers.keys()) void this.#write(id);
	}

	async #write(id: string): Promise<void> {
		clearTimeout(this.#timers.get(id));
		this.#timers.delete(id);
		const draft = this.#drafts.get(id);
		if (!draft) return;
		const isEmpty = draft.text === '' && draft.attachments.length === 0;
		await chatStorage.write(() => (isEmpty ? removeDraft(id) : putDraft(draft)));
	}
}

export const drafts = new Drafts();
