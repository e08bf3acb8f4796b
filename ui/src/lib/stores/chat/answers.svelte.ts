import { SvelteMap } from 'svelte/reactivity';
import type { AnswerMessage, Message } from '$lib/chat_types';
import { newAnswer, newToolMessage, newUserMessage, type ToolResult } from '$lib/services/chat/new_records';
import { titleOf } from '$lib/services/chat/title';
import { conversations } from './conversations.svelte';
import { LiveAnswer } from './live_answer.svelte';
import type { ConversationTree } from './tree.svelte';

export interface NewMessage {
	conversation: string;
	text: string;
	/** Ids of attachments, which are in the storage already. */
	attachments?: string[];
	/** The message that it follows; unless given, the end of the branch that is shown. */
	parent?: string | null;
}

/** Answers: how they are asked for, and those that run. All methods that ask for one return the id of the new answer. */
class Answers {
	#live = new SvelteMap<string, LiveAnswer>();

	/** What is known of a running answer; undefined once it has ended. */
	live(id: string): LiveAnswer | undefined {
		return this.#live.get(id);
	}

	/** Ask with a new message of the user, also the second model if there is one. */
	async send(message: NewMessage): Promise<string> {
		const tree = await this.#tree(message.conversation);
		const parent = message.parent === undefined ? tree.leaf : message.parent;
		const asked = newUserMessage(tree.id, parent, message.text, message.attachments ?? []);
		this.#title(tree.id, message.text);
		return this.#ask(tree, [asked], asked.id);
	}

	/** Ask again for another answer to the same message: a branch beside this one. */
	async regenerate(conversation: string, id: string, options: { model?: string } = {}): Promise<string> {
		const tree = await this.#tree(conversation);
		const old = answerOf(tree, id);
		const { continues, isSecond } = old;
		return this.#begin(tree, [], newAnswer(tree.id, old.parent, options.model ?? old.model, { continues, isSecond }));
	}

	/** Change a message. Of the user: a branch beside it, with an answer. Of the model: a branch with this text. */
	async edit(conversation: string, id: string, text: string, attachments?: string[]): Promise<string> {
		const tree = await this.#tree(conversation);
		const old = tree.messages.get(id);
		if (old?.role === 'user') {
			const asked = newUserMessage(tree.id, old.parent, text, attachments ?? old.attachments);
			return this.#ask(tree, [asked], asked.id);
		}
		const { parent, model, ...answer } = answerOf(tree, id);
		const { reasoning, reasoningMs, continues, isSecond } = answer;
		const given = { text, reasoning, reasoningMs, continues, isSecond, status: 'done' } as const;
		const edited = newAnswer(tree.id, parent, model, given);
		await conversations.putMessages(tree.id, [edited]);
		conversations.setLeaf(tree.id, edited.id);
		return edited.id;
	}

	/** Whether an answer can be continued: it has text, and was cut, stopped or lost its connection to the model. */
	canContinue(message: Message): boolean {
		return (
			message.role === 'assistant' &&
			['cut', 'stopped', 'failed', 'lost'].includes(message.status) &&
			message.text !== '' &&
			message.calls.length === 0
		);
	}

	/** Go on with an answer that was cut: a message after it, which is shown as its rest. */
	async continueAnswer(conversation: string, id: string): Promise<string> {
		const tree = await this.#tree(conversation);
		const { model, isSecond } = answerOf(tree, id);
		return this.#begin(tree, [], newAnswer(tree.id, id, model, { continues: id, isSecond }));
	}

	/** Try an answer again that failed. One that has any text stays as a branch; an empty one is replaced. */
	async retry(conversation: string, id: string): Promise<string> {
		const tree = await this.#tree(conversation);
		const old = answerOf(tree, id);
		const isEmpty = old.text === '' && old.reasoning === '' && old.calls.length === 0;
		const fresh = await this.regenerate(conversation, id);
		if (isEmpty) await conversations.removeMessage(conversation, id);
		return fresh;
	}

	/** Give the results of all calls of an answer; the model goes on with them. */
	async sendResults(conversation: string, id: string, results: ToolResult[]): Promise<string> {
		const tree = await this.#tree(conversation);
		const added: Message[] = [];
		let parent = id;
		for (const result of results) {
			const message = newToolMessage(tree.id, parent, result);
			added.push(message);
			parent = message.id;
		}
		const { model, isSecond } = answerOf(tree, id);
		return this.#begin(tree, added, newAnswer(tree.id, parent, model, { isSecond }));
	}

	/** End an answer. Its text so far stays. Works after a reload, and from any tab. */
	async stop(conversation: string, id: string): Promise<void> {
		const tree = await this.#tree(conversation);
		const answer = answerOf(tree, id);
		await conversations.putMessages(tree.id, [{ ...answer, status: 'stopped' }]);
		this.#live.delete(id);
	}

	/** End all answers of a conversation. */
	async stopAll(conversation: string): Promise<void> {
		const running = [...this.#live.keys()];
		await Promise.all(running.map((id) => this.stop(conversation, id)));
	}

	async #ask(tree: ConversationTree, added: Message[], parent: string): Promise<string> {
		const settings = conversations.get(tree.id)?.settings;
		if (!settings?.model) throw new Error('the conversation has no model');
		const answer = newAnswer(tree.id, parent, settings.model);
		return this.#begin(tree, added, answer);
	}

	async #begin(tree: ConversationTree, added: Message[], answer: AnswerMessage): Promise<string> {
		this.#live.set(answer.id, new LiveAnswer());
		await conversations.putMessages(tree.id, [...added, answer]);
		conversations.setLeaf(tree.id, answer.id);
		conversations.change(tree.id, { changedAt: Date.now() });
		return answer.id;
	}

	#title(id: string, text: string): void {
		const conversation = conversations.get(id);
		if (conversation && !conversation.isTitled && conversation.title === '') {
			conversations.change(id, { title: titleOf(text) });
		}
	}

	async #tree(id: string): Promise<ConversationTree> {
		const tree = await conversations.open(id);
		if (!tree) throw new Error(`there is no conversation ${id}`);
		return tree;
	}
}

function answerOf(tree: ConversationTree, id: string): AnswerMessage {
	const message = tree.messages.get(id);
	if (message?.role !== 'assistant') throw new Error(`${id} is no answer`);
	return message;
}

export const answers = new Answers();
