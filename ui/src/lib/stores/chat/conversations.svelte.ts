import { SvelteMap } from 'svelte/reactivity';
import type { ChatSettings, Conversation, Message } from '$lib/chat_types';
import { newConversation, newSettings } from '$lib/services/chat/new_records';
import {
	putConversation,
	putWhole,
	readConversations,
	readWhole,
	removeConversations,
	removeEverything,
	type WholeConversation
} from '$lib/storage/conversations';
import { putMessages, readMessages, removeMessages } from '$lib/storage/messages';
import { chatStorage } from './storage.svelte';
import { tabs } from './tabs';
import { ConversationTree } from './tree.svelte';

/** So many trees stay in memory. */
const OPEN_TREES = 6;

/** The conversations of this browser: their records, and the trees of those that were opened. */
class Conversations {
	#records = new SvelteMap<string, Conversation>();
	/** All of them, the one that changed last first. Pinned ones are not moved up: the list does that. */
	list: Conversation[] = $derived.by(() => [...this.#records.values()].sort((a, b) => b.changedAt - a.changedAt));
	/** Whether the list was read. */
	isRead = $state(false);
	#trees = new Map<string, ConversationTree>();

	/** Read the list, and follow the changes of other tabs. Returns what ends it. */
	start(): () => void {
		void this.#read();
		return tabs.follow((message) => {
			if (message.kind === 'conversation') this.#set(message.conversation);
			else if (message.kind === 'conversations') void this.#read();
			else if (message.kind === 'removed') this.#forget(message.ids);
			else if (message.kind === 'messages') this.#trees.get(message.conversation)?.put(...message.messages);
			else if (message.kind === 'taken') this.#trees.get(message.conversation)?.take(message.ids);
		});
	}

	async #read(): Promise<void> {
		const found = await chatStorage.read(readConversations, []);
		for (const one of found) this.#records.set(one.id, one);
		this.isRead = true;
	}

	/** A conversation; undefined if there is none of this id (or the list was not read). */
	get(id: string): Conversation | undefined {
		return this.#records.get(id);
	}

	/** Make a conversation. It is in the list at once: make it when its first message is sent. */
	create(given: Partial<Pick<Conversation, 'title' | 'folder' | 'place' | 'settings'>> = {}): Conversation {
		const settings = { ...newSettings(), ...$state.snapshot(given.settings) } as ChatSettings;
		const conversation = newConversation({ ...given, settings });
		this.#trees.set(conversation.id, new ConversationTree(conversation.id, [], null));
		this.save(conversation);
		return conversation;
	}

	/** The messages of a conversation; undefined if there is none of this id. */
	async open(id: string): Promise<ConversationTree | undefined> {
		const known = this.#trees.get(id);
		if (known) {
			this.#trees.delete(id); // the last one is the newest
			this.#trees.set(id, known);
			return known;
		}
		const whole = await chatStorage.read(() => readWhole(id), undefined);
		const opened = this.#trees.get(id); // by another call meanwhile
		if (opened || !whole) return opened;
		if (!this.#records.has(id)) this.#set(whole.conversation);
		const tree = new ConversationTree(id, whole.messages, (this.get(id) ?? whole.conversation).leaf);
		this.#trees.set(id, tree);
		for (const oldest of [...this.#trees.keys()].slice(0, -OPEN_TREES)) this.#trees.delete(oldest);
		return tree;
	}

	/** The tree of a conversation that is open. */
	tree(id: string): ConversationTree | undefined {
		return this.#trees.get(id);
	}

	/** Change fields: the title (`isTitled: true` with it), the folder, the pin, the settings. */
	change(id: string, fields: Partial<Omit<Conversation, 'id' | 'createdAt'>>): void {
		const known = this.get(id);
		if (!known) return;
		this.save({ ...known, ...($state.snapshot(fields) as Partial<Conversation>) });
	}

	/** Show the branch of a message: to the end of the newest branch below it. */
	select(id: string, message: string): void {
		const tree = this.#trees.get(id);
		if (tree) this.setLeaf(id, tree.newestLeaf(message));
	}

	/** Show the branch that ends there. */
	setLeaf(id: string, leaf: string | null): void {
		const tree = this.#trees.get(id);
		if (tree) tree.leaf = leaf;
		const known = this.get(id);
		if (known && known.leaf !== leaf) this.save({ ...known, leaf });
	}

	/** Remove conversations with their messages and attachments. Returns what brings them back. */
	async remove(ids: string[]): Promise<() => Promise<void>> {
		const kept: WholeConversation[] = [];
		for (const id of ids) {
			const whole = await chatStorage.read(() => readWhole(id), undefined);
			const conversation = this.get(id) ?? whole?.conversation;
			if (!conversation) continue;
			const messages = [...(this.#trees.get(id)?.messages.values() ?? whole?.messages ?? [])];
			kept.push({ conversation, messages, attachments: whole?.attachments ?? [] });
		}
		this.#forget(ids);
		tabs.tell({ kind: 'removed', ids });
		await chatStorage.write(() => removeConversations(ids));
		return () => this.adopt(kept);
	}

	/** Remove all conversations, drafts, presets and settings of this browser. */
	async removeAll(): Promise<void> {
		const ids = [...this.#records.keys()];
		this.#forget(ids);
		tabs.tell({ kind: 'removed', ids });
		await chatStorage.write(removeEverything);
	}

	/** Take in whole conversations (an import, an undone removal): all of them or none. */
	async adopt(all: WholeConversation[]): Promise<void> {
		if (!(await chatStorage.write(() => putWhole(all)))) return;
		for (const { conversation } of all) {
			this.#trees.delete(conversation.id);
			this.#records.set(conversation.id, conversation);
		}
		tabs.tell({ kind: 'conversations' });
	}

	/** Remove a message and all that follows it, in all branches. Returns what brings them back. */
	async removeMessage(id: string, message: string): Promise<() => Promise<void>> {
		const tree = await this.open(id);
		const first = tree?.messages.get(message);
		if (!tree || !first) return () => Promise.resolve();
		const leaf = tree.leaf;
		const ids = tree.subtree(message);
		const gone = ids.map((one) => tree.messages.get(one) as Message);
		tree.take(ids);
		tabs.tell({ kind: 'taken', conversation: id, ids });
		if (leaf !== null && ids.includes(leaf)) this.setLeaf(id, tree.newestLeaf(first.parent));
		await chatStorage.write(() => removeMessages(ids));
		return async () => {
			await this.putMessages(id, gone);
			this.setLeaf(id, leaf);
		};
	}

	/** Write messages, and show them wherever the conversation is open. */
	async putMessages(id: string, messages: Message[]): Promise<void> {
		this.#trees.get(id)?.put(...messages);
		tabs.tell({ kind: 'messages', conversation: id, messages });
		await chatStorage.write(() => putMessages(messages));
	}

	/** The messages of a conversation, read once and not followed. */
	async messages(id: string): Promise<Message[]> {
		const tree = this.#trees.get(id);
		return tree ? [...tree.messages.values()] : chatStorage.read(() => readMessages(id), []);
	}

	/** Write a conversation's record, and show it in all tabs. */
	save(conversation: Conversation): void {
		this.#set(conversation);
		tabs.tell({ kind: 'conversation', conversation });
		void chatStorage.write(() => putConversation(conversation));
	}

	#set(conversation: Conversation): void {
		this.#records.set(conversation.id, conversation);
	}

	#forget(ids: string[]): void {
		for (const id of ids) {
			this.#trees.delete(id);
			this.#records.delete(id);
		}
	}
}

export const conversations = new Conversations();
