import { SvelteMap } from 'svelte/reactivity';
import type { Message } from '$lib/chat_types';
import { besideOf, branchesAt, childrenOf, newestLeaf, pathTo, subtree } from '$lib/services/chat/tree';

/**
 * The messages of an open conversation. Reading `message(id)` in a component follows this one message, and `path` follows
 * the shape of the tree: an answer that grows renders itself and nothing else.
 */
export class ConversationTree {
	/** The end of the branch that is shown. */
	leaf: string | null = $state(null);
	#messages = new SvelteMap<string, Message>();
	/** The same records, for reading without following them. */
	// eslint-disable-next-line svelte/prefer-svelte-reactivity -- what reads it follows #shape instead
	#plain = new Map<string, Message>();
	/** It grows when a message comes or goes. */
	#shape = $state(0);
	#children = $derived.by(() => {
		void this.#shape;
		return childrenOf(this.#plain);
	});
	/** The ids of the messages that are shown, the first one first. */
	path: string[] = $derived.by(() => {
		void this.#shape;
		return pathTo(this.#plain, this.leaf);
	});

	/** @param wanted the end to show: at once, or as soon as it comes if nothing can be shown now */
	constructor(
		readonly id: string,
		messages: Message[],
		private readonly wanted: string | null
	) {
		for (const message of messages) {
			this.#plain.set(message.id, message);
			this.#messages.set(message.id, message);
		}
		this.leaf = wanted !== null && this.#plain.has(wanted) ? wanted : newestLeaf(this.#plain, null);
	}

	/** A message, followed alone. */
	message(id: string): Message | undefined {
		return this.#messages.get(id);
	}

	/** All messages as they are now, not followed. */
	get messages(): ReadonlyMap<string, Message> {
		return this.#plain;
	}

	/** The branches at a message, itself included, the oldest first: what the arrows go through. */
	branches(id: string): string[] {
		return branchesAt(this.#plain, id, this.#children);
	}

	/** The newest answer of the other model to the same message; null without one. */
	beside(id: string): string | null {
		return besideOf(this.#plain, id, this.#children);
	}

	/** The messages from the first one to `id`. */
	history(id: string | null): Message[] {
		return pathTo(this.#plain, id).map((one) => this.#plain.get(one) as Message);
	}

	/** The end of the newest branch below a message. */
	newestLeaf(id: string | null): string | null {
		return newestLeaf(this.#plain, id);
	}

	/** A message and all below it. */
	subtree(id: string): string[] {
		return subtree(this.#plain, id);
	}

	/** Add messages, or replace those with the same ids. Only the stores call it. */
	put(...messages: Message[]): void {
		let isNewShape = false;
		for (const message of messages) {
			isNewShape ||= this.#plain.get(message.id)?.parent !== message.parent;
			this.#plain.set(message.id, message);
			this.#messages.set(message.id, message);
		}
		if (isNewShape) this.#shape += 1;
		if (this.leaf === null && this.wanted !== null && this.#plain.has(this.wanted)) this.leaf = this.wanted;
	}

	/** Take messages away. Only the stores call it. */
	take(ids: string[]): void {
		for (const id of ids) {
			this.#plain.delete(id);
			this.#messages.delete(id);
		}
		this.#shape += 1;
	}
}
