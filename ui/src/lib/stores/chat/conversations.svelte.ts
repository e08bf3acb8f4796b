import { SvelteMap } from 'svelte/reactivity';
import type { ChatSettings, Conversation, Message } from '$lib/chat_types';
import { newConversation, newSettings } from '$lib/services/chat/new_records';
import { isRunning } from '$lib/services/chat/response';
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
import { platform } from './platform.svelte';
import { chatStorage } from './storage.svelte';
import { tabs } from './tabs';
import { ConversationTree } from './tree.svelte';

/** So many trees stay in memory. */
const OPEN_TREES = 6;

/** The conversations of this browser: their records, and the trees of those that were opened. */
class Conversations {
	#records = new SvelteMap<string, Conversation>();
	/** All that this session may see, the one that changed last first. Pinned ones are not moved up: the list does that. */
	list: Conversation[] = $derived.by(() => [...this.#records.values()].filter(isShown).sort((a, b) => b.changedAt - a.changedAt));
	/** Whether the list was read. */
	isRead = $state(false);
	/** Ends when the list was read for the first time. */
	reading: Promise<void> = Promise.resolve();
	#trees = new Map<string, ConversationTree>();
	#followers = new Set<(isGone: (message: Message) => boolean) => void>();
	#opening = new Map<string, Map<string, Message>>();

	/** Read the list, and follow the changes of other tabs. Returns what ends it. */
	start(): () => void {
		this.reading = this.#read();
		return tabs.follow((message) => {
			if (message.kind === 'conversation') this.#hear(message.conversation);
			else if (message.kind === 'conversations') void this.#read();
			else if (message.kind === 'removed') this.#forget(message.ids);
			else if (message.kind === 'messages') this.#trees.get(message.conversation)?.put(...message.messages);
			else if (message.kind === 'taken') this.#take(message.conversation, message.ids);
		});
	}

	/** Where another tab has gone on from the end that is shown here, this tab shows it; other branches do not move it. */
	#hear(conversation: Conversation): void {
		this.#set(conversation);
		const { id, leaf } = conversation;
		const tree = this.#trees.get(id);
		if (tree && tree.leaf !== leaf && tree.history(leaf).some((message) => message.id === tree.leaf)) tree.leaf = leaf;
	}

	/** Call `tell` when messages are removed, with what says whether a message is among them. Returns what ends it. */
	onGone(tell: (isGone: (message: Message) => boolean) => void): () => void {
		this.#followers.add(tell);
		return () => this.#followers.delete(tell);
	}

	async #read(): Promise<void> {
		const found = await chatStorage.read(readConversations, []);
		for (const one of found) this.#records.set(one.id, one);
		this.isRead = true;
	}

	/** A conversation; undefined if there is none of this id (or the list was not read), or it is another tenant's. */
	get(id: string): Conversation | undefined {
		const found = this.#records.get(id);
		return found && isShown(found) ? found : undefined;
	}

	/** Make a conversation. It is in the list at once: make it when its first message is sent. */
	create(given: Partial<Pick<Conversation, 'title' | 'folder' | 'place' | 'settings'>> = {}): Conversation {
		const settings = { ...newSettings(), ...$state.snapshot(given.settings) } as ChatSettings;
		const isServer = given.place === 'server' && platform.tenant !== null;
		const conversation = newConversation({
			...given,
			settings,
			...(isServer ? { tenant: platform.tenant } : { place: 'browser' })
		});
		this.#trees.set(conversation.id, new ConversationTree(conversation.id, [], null));
		this.save(conversation);
		return conversation;
	}

	/** Show a message that grows, if its conversation is open or being opened. Writing it is the caller's. */
	show(message: Message): void {
		this.#opening.get(message.conversation)?.set(message.id, message);
		const tree = this.#trees.get(message.conversation);
		if (tree?.messages.has(message.id)) tree.put(message);
	}

	/** The messages of a conversation; undefined if there is none of this id. */
	async open(id: string): Promise<ConversationTree | undefined> {
		const known = this.tree(id);
		if (known) {
			this.#trees.delete(id); // the last one is the newest
			this.#trees.set(id, known);
			return known;
		}
		// what changes while the storage is read is newer than what it gives
		const newer = this.#opening.get(id) ?? new Map<string, Message>();
		this.#opening.set(id, newer);
		const whole = await chatStorage.read(() => readWhole(id), undefined);
		this.#opening.delete(id);
		const opened = this.#trees.get(id); // by another call meanwhile
		if (opened || !whole) return opened;
		if (!this.#records.has(id)) this.#set(whole.conversation);
		if (!this.get(id)) return undefined;
		const tree = new ConversationTree(id, [...whole.messages, ...newer.values()], (this.get(id) ?? whole.conversation).leaf);
		this.#trees.set(id, tree);
		if (chatStorage.state === 'ready') {
			for (const oldest of [...this.#trees.keys()].slice(0, -OPEN_TREES)) this.#trees.delete(oldest);
		}
		return tree;
	}

	/** The tree of a conversation that is open. */
	tree(id: string): ConversationTree | undefined {
		const record = this.#records.get(id);
		return record && !isShown(record) ? undefined : this.#trees.get(id);
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
			const messages = [...(this.#trees.get(id)?.messages.values() ?? whole?.messages ?? [])].map(ended);
			kept.push({ conversation, messages, attachments: whole?.attachments ?? [] });
		}
		await this.#takeAway(ids, () => removeConversations(ids));
		return async () => {
			const restored = kept.map((whole) => (whole.conversation.place === 'server' ? platform.sync().then((sync) => sync.restored(whole)) : whole));
			await this.adopt(await Promise.all(restored));
		};
	}

	/** Take away what was removed on the platform. */
	async drop(ids: string[]): Promise<void> {
		await this.#takeAway(ids, () => removeConversations(ids, true));
	}

	/** Remove all conversations, drafts, presets and settings of this browser. */
	async removeAll(): Promise<void> {
		const ids = [...this.#records.keys()];
		await this.#takeAway(ids, removeEverything);
	}

	/** Show conversations in no tab any more, and remove them from the storage. */
	async #takeAway(ids: string[], remove: () => Promise<void>): Promise<void> {
		this.#forget(ids);
		tabs.tell({ kind: 'removed', ids });
		await chatStorage.write(remove);
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
		const gone = ids.map((one) => ended(tree.messages.get(one) as Message));
		await this.dropMessages(id, ids, itemRoots(gone));
		this.#changed(id);
		return async () => {
			// the platform has them no more, and gets them anew
			await this.putMessages(id, gone.map((one) => ({ ...one, itemIds: [] })));
			this.setLeaf(id, leaf);
		};
	}

	/** Take messages away. `items`: what the platform has to delete for it. */
	async dropMessages(id: string, ids: string[], items: string[] = []): Promise<void> {
		const tree = this.#trees.get(id);
		const leaf = tree?.leaf ?? null;
		const above = tree?.history(leaf).findLast((message) => !ids.includes(message.id))?.id ?? null;
		this.#take(id, ids);
		tabs.tell({ kind: 'taken', conversation: id, ids });
		if (tree && leaf !== null && ids.includes(leaf)) this.setLeaf(id, tree.newestLeaf(above));
		await chatStorage.write(() => removeMessages(ids, id, items));
	}

	/** Show messages wherever the conversation is open. Writing them is the caller's. */
	add(id: string, messages: Message[]): void {
		this.#trees.get(id)?.put(...messages);
		for (const message of messages) this.#opening.get(id)?.set(message.id, message);
		tabs.tell({ kind: 'messages', conversation: id, messages });
	}

	/** Write messages that were made here, and show them wherever the conversation is open. */
	async putMessages(id: string, messages: Message[]): Promise<void> {
		await this.acceptMessages(id, messages);
		this.#changed(id);
	}

	/** The same, of what the platform has. */
	async acceptMessages(id: string, messages: Message[]): Promise<void> {
		this.add(id, messages);
		await chatStorage.write(() => putMessages(messages));
	}

	/** The messages of a conversation, read once and not followed. */
	async messages(id: string): Promise<Message[]> {
		const tree = this.#trees.get(id);
		return tree ? [...tree.messages.values()] : chatStorage.read(() => readMessages(id), []);
	}

	/** Write a conversation's record that was changed here, and show it in all tabs. */
	save(conversation: Conversation): void {
		void this.accept(conversation);
		this.#changed(conversation.id);
	}

	/** The same, of what the platform has. */
	async accept(conversation: Conversation): Promise<void> {
		this.#set(conversation);
		tabs.tell({ kind: 'conversation', conversation });
		await chatStorage.write(() => putConversation(conversation));
	}

	/** All conversations that this browser keeps, those of other tenants included: for what must not collide. */
	all(): Iterable<Conversation> {
		return this.#records.values();
	}

	#changed(id: string): void {
		if (this.#records.get(id)?.place === 'server') platform.changed(id);
	}

	#set(conversation: Conversation): void {
		this.#records.set(conversation.id, conversation);
	}

	#take(id: string, messages: string[]): void {
		this.#trees.get(id)?.take(messages);
		for (const tell of this.#followers) tell((message) => messages.includes(message.id));
	}

	#forget(ids: string[]): void {
		for (const tell of this.#followers) tell((message) => ids.includes(message.conversation));
		for (const id of ids) {
			this.#trees.delete(id);
			this.#records.delete(id);
		}
	}
}

/** A message as it is once it is removed: what runs is stopped then. */
function ended(message: Message): Message {
	return message.role === 'assistant' && isRunning(message.status) ? { ...message, status: 'stopped' } : message;
}

/** Whether the session of this browser may see it: a copy of the platform's belongs to its tenant. */
function isShown({ tenant }: Conversation): boolean {
	return tenant == null || tenant === platform.tenant;
}

/** The first items of these messages that the platform has: with what follows them, they are all. */
function itemRoots(messages: Message[]): string[] {
	const held = new Set(messages.filter(({ itemIds }) => itemIds.length > 0).map(({ id }) => id));
	const byId = new Map(messages.map((message) => [message.id, message]));
	const isBelow = (message: Message): boolean => {
		for (let at = message.parent; at !== null; at = byId.get(at)?.parent ?? null) if (held.has(at)) return true;
		return false;
	};
	return messages.flatMap((message) => (held.has(message.id) && !isBelow(message) ? message.itemIds.slice(0, 1) : []));
}

export const conversations = new Conversations();
