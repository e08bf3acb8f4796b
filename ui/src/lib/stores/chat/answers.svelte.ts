import { untrack } from 'svelte';
import type { AnswerMessage, Attachment, ChatSettings, Message } from '$lib/chat_types';
import { fittedChoices, mediaRequest, newMedia, questionOf, type Offered } from '$lib/services/chat/media/media_request';
import { inputOf } from '$lib/services/chat/input';
import { newAnswer, newToolMessage, newUserMessage, type ToolResult } from '$lib/services/chat/new_records';
import { requestBody, type RequestBody, type ToolDefinition } from '$lib/services/chat/request';
import { isRunning } from '$lib/services/chat/response';
import { titleOf } from '$lib/services/chat/title';
import { putMessages } from '$lib/storage/messages';
import { attachmentsOf, keepAttachment } from './attachments';
import { conversations } from './conversations.svelte';
import { mediaChoices } from './media/media_choices';
import type { LiveAnswer } from './live_answer.svelte';
import { platform } from './platform.svelte';
import { runs } from './runs.svelte';
import { chatStorage } from './storage.svelte';
import type { AnswerTrace } from './trace.svelte';
import type { ConversationTree } from './tree.svelte';

export interface NewMessage {
	conversation: string;
	text: string;
	/** Ids of attachments, which are in the storage already. */
	attachments?: string[];
	/** The message that it follows; unless given, the end of the branch that is shown. */
	parent?: string | null;
}

/** What other parts of the chat know about tools and models. */
export interface RequestKnowledge {
	/** The definitions of these tools; unknown ones are left out. */
	tools(names: string[]): Promise<ToolDefinition[]>;
	/** What a model takes (`text`, `image`, `audio`); undefined if that is not known. */
	modalities(model: string): readonly string[] | undefined;
	/** The values of `thinking` that a model takes; undefined if that is not known. */
	reasoning(model: string): readonly string[] | undefined;
	/** Whether the platform has no such model any more. */
	isGone(model: string): boolean;
	/** What a model does in place of answers in text, and with which choices; undefined if that is not known. */
	media(model: string): Offered | undefined;
}

/** Answers: how they are asked for, and those that run. Methods that ask for one return the id of the new answer. */
class Answers {
	#knowledge: RequestKnowledge = {
		tools: () => Promise.resolve([]),
		modalities: () => undefined,
		reasoning: () => undefined,
		isGone: () => false,
		media: () => undefined
	};

	/** What ends the preparation of an answer's request. */
	#preparing = new Map<string, () => void>();

	/** Let requests have tools, and what models take of attachments. */
	use(knowledge: Partial<RequestKnowledge>): void {
		this.#knowledge = { ...this.#knowledge, ...knowledge };
	}

	/** What is known of a running answer; undefined once it has ended. */
	live(id: string): LiveAnswer | undefined {
		return runs.live(id);
	}

	/** What this tab and the API have said about an answer, of the latest ones; for the inspector. */
	trace(id: string): AnswerTrace | undefined {
		return runs.trace(id);
	}

	/** Whether an answer of the conversation runs. */
	isRunning(conversation: string): boolean {
		return runs.of(conversation).length > 0;
	}

	/** Stream the answers of a conversation while it is looked at: call it in an effect. Returns what ends it. */
	watch(conversation: string): () => void {
		if (untrack(() => conversations.get(conversation))?.place === 'server') platform.changed(conversation, 0);
		return runs.watch(conversation);
	}

	/** Call `tell` when an answer has ended that this tab has read. Returns what ends it. */
	onEnd(tell: (answer: AnswerMessage, isForeign: boolean) => void): () => void {
		return runs.onEnd(tell);
	}

	/** Ask with a new message of the user, also the second model if there is one. */
	async send(message: NewMessage): Promise<string> {
		const tree = await open(message.conversation);
		const parent = message.parent === undefined ? tree.leaf : message.parent;
		const asked = newUserMessage(tree.id, parent, message.text, [...(message.attachments ?? [])]);
		const files = await this.#own(tree.id, asked.attachments);
		this.#title(tree.id, message.text, files[0]?.name);
		return this.#ask(tree, [asked], asked.id);
	}

	/** Ask again for another answer to the same message: a branch beside this one. */
	async regenerate(conversation: string, id: string, options: { model?: string } = {}): Promise<string> {
		const tree = await open(conversation);
		const old = answerOf(tree, id);
		const { parent, continues, isSecond, media } = old;
		const model = options.model ?? this.#model(old);
		const again = newAnswer(tree.id, parent, model, { continues, isSecond, ...(media && { media }) });
		return this.#begin(tree, [], [again], true);
	}

	/** Change a message. Of the user: a branch beside it, with an answer. Of the model: a branch with this text. */
	async edit(conversation: string, id: string, text: string, attachments?: string[]): Promise<string> {
		const tree = await open(conversation);
		const old = tree.messages.get(id);
		if (old?.role === 'user') {
			const asked = newUserMessage(tree.id, old.parent, text, [...(attachments ?? old.attachments)]);
			await this.#own(tree.id, asked.attachments);
			return this.#ask(tree, [asked], asked.id);
		}
		const { parent, model, reasoning, reasoningMs, continues, isSecond } = answerOf(tree, id);
		const given = { text, reasoning, reasoningMs, continues, isSecond, status: 'done' } as const;
		const edited = newAnswer(tree.id, parent, model, given);
		await conversations.putMessages(tree.id, [edited]);
		conversations.setLeaf(tree.id, edited.id);
		return edited.id;
	}

	/** Go on with an answer that was cut: a message after it, which is shown as its rest. */
	async continueAnswer(conversation: string, id: string): Promise<string> {
		const tree = await open(conversation);
		const begun = answerOf(tree, id);
		const { text, continues, isSecond } = begun;
		if (text === '' && continues !== null) return this.retry(conversation, id);
		return this.#begin(tree, [], [newAnswer(tree.id, id, this.#model(begun), { continues: id, isSecond })]);
	}

	/** Ask for the answer to a message that has none. */
	async answer(conversation: string, id: string): Promise<string> {
		return this.#ask(await open(conversation), [], id);
	}

	/**
	 * Try an answer again that failed, with the model that is chosen now. One that has any text stays as a branch; an empty one
	 * is replaced.
	 */
	async retry(conversation: string, id: string): Promise<string> {
		const tree = await open(conversation);
		const { text, reasoning, calls, model, isSecond, media } = answerOf(tree, id);
		const fresh = await this.regenerate(conversation, id, { model: chosenModel(conversation, isSecond) ?? model });
		const isEmpty = text === '' && reasoning === '' && calls.length === 0 && !media?.attachments.length;
		if (isEmpty && tree.subtree(id).length === 1) await conversations.removeMessage(conversation, id);
		return fresh;
	}

	/** Give the results of all calls of an answer; the model goes on with them. */
	async sendResults(conversation: string, id: string, results: ToolResult[]): Promise<string> {
		const tree = await open(conversation);
		const asked = answerOf(tree, id);
		const { isSecond } = asked;
		const added: Message[] = [];
		let parent = id;
		for (const result of results) {
			const message = newToolMessage(tree.id, parent, result);
			added.push(message);
			parent = message.id;
		}
		return this.#begin(tree, added, [newAnswer(tree.id, parent, this.#model(asked), { isSecond })]);
	}

	/** Ask for the answer to the results of tools that end a branch without one. `id`: the last of them. */
	async answerResults(conversation: string, id: string): Promise<string> {
		const tree = await open(conversation);
		const asked = tree.history(id).findLast((message) => message.role === 'assistant');
		if (asked?.role !== 'assistant') throw new Error(`${id} has no calls`);
		return this.#begin(tree, [], [newAnswer(tree.id, id, this.#model(asked), { isSecond: asked.isSecond })]);
	}

	/** End an answer, or what is prepared for its request. Its text so far stays. Works after a reload, and from any tab. */
	async stop(id: string): Promise<void> {
		this.#preparing.get(id)?.();
		await runs.get(id)?.stop();
	}

	/**
	 * The request that was or would be sent for an answer (a message that is the end of its own history: what would answer
	 * it), with the settings that the conversation has now: for View code, and for counting tokens.
	 */
	async request(conversation: string, id: string | null, model?: string): Promise<RequestBody> {
		const tree = await open(conversation);
		const message = id === null ? undefined : tree.messages.get(id);
		const answer = message?.role === 'assistant' && isAsked(message) ? message : undefined;
		const settings = settingsOf(conversation);
		const parent = answer ? answer.parent : id;
		return this.#body(tree, parent, model ?? answer?.model ?? settings.model ?? '', answer?.continues ?? null, answer ?? null);
	}

	// ---- how an answer is asked for

	/** The model that goes on where another answer was: its own, or the chosen one if that is gone. */
	#model({ model, isSecond, conversation }: AnswerMessage): string {
		return this.#knowledge.isGone(model) ? (chosenModel(conversation, isSecond) ?? model) : model;
	}

	async #ask(tree: ConversationTree, added: Message[], parent: string): Promise<string> {
		const { model, secondModel } = settingsOf(tree.id);
		if (!model) throw new Error('the conversation has no model');
		const asked = [newAnswer(tree.id, parent, model)];
		if (secondModel) asked.push(newAnswer(tree.id, parent, secondModel, { isSecond: true }));
		return this.#begin(tree, added, asked);
	}

	/**
	 * Write the messages, show them, and ask for the answers. Returns the id of the first. `isAgain`: of an image another one is
	 * wanted, also where a person has chosen a seed.
	 */
	async #begin(tree: ConversationTree, added: Message[], wanted: AnswerMessage[], isAgain = false): Promise<string> {
		const asked = await Promise.all(wanted.map((answer) => this.#withTask(answer, isAgain)));
		const first = asked[0] as AnswerMessage;
		conversations.add(tree.id, [...added, ...asked]);
		conversations.change(tree.id, { changedAt: Date.now(), leaf: first.id });
		tree.leaf = first.id;
		if (conversations.get(tree.id)?.place === 'server' && asked.some(({ media }) => !media)) {
			await chatStorage.write(() => putMessages(added));
			const end = await this.#prepare(tree.id, asked);
			if (end) {
				await conversations.putMessages(tree.id, asked.map((one) => ({ ...one, ...end })));
				return first.id;
			}
		}
		const bodies = await Promise.all(
			asked.map((one) => (one.media ? this.#mediaBody(tree, one) : this.#body(tree, one.parent, one.model, one.continues, one)))
		);
		await runs.begin(
			added,
			asked.map((answer, at) => ({ answer, body: JSON.stringify(bodies[at]), isMedia: answer.media !== undefined }))
		);
		return first.id;
	}

	/** The answer with what its model does; of one that is not known, what it did before. */
	async #withTask({ media, ...answer }: AnswerMessage, isAgain: boolean): Promise<AnswerMessage> {
		const known = this.#knowledge.media(answer.model);
		const task = known === undefined ? (media?.task ?? null) : known.task;
		if (task === null) return answer;
		const choices = await mediaChoices(answer.model);
		return { ...answer, media: newMedia(task, isAgain ? { ...choices, seed: null } : choices) };
	}

	async #mediaBody(tree: ConversationTree, { model, parent, media }: AnswerMessage) {
		if (!media) throw new Error('the answer is a text');
		const history = tree.history(parent);
		const files = await attachmentsOf(questionOf(history)?.attachments ?? []);
		const choices = fittedChoices(await mediaChoices(model), this.#knowledge.media(model));
		return mediaRequest(model, media, history, files, choices);
	}

	/** Let the platform have what a request needs. Returns how the answers end if it cannot be sent, or a person stops one. */
	async #prepare(conversation: string, asked: AnswerMessage[]): Promise<Pick<AnswerMessage, 'status' | 'error'> | null> {
		const stopped = new Promise<Pick<AnswerMessage, 'status' | 'error'>>((resolve) => {
			for (const { id } of asked) this.#preparing.set(id, () => resolve({ status: 'stopped', error: null }));
		});
		const prepared = platform.sync().then((sync) => sync.prepare(conversation, (asked[0] as AnswerMessage).parent));
		const failed = prepared.then((error) => error && { status: 'failed' as const, error });
		try {
			return await Promise.race([failed, stopped]);
		} finally {
			for (const { id } of asked) this.#preparing.delete(id);
		}
	}

	async #body(
		tree: ConversationTree,
		parent: string | null,
		model: string,
		continues: string | null,
		answer: AnswerMessage | null
	): Promise<RequestBody> {
		const settings = settingsOf(tree.id);
		const history = tree.history(parent);
		const ids = history.flatMap((message) => (message.role === 'user' ? message.attachments : []));
		const files = await attachmentsOf(ids);
		const attachments = new Map(files.map((file) => [file.id, file]));
		const modalities = this.#knowledge.modalities(model);
		const isServer = conversations.get(tree.id)?.serverId != null;
		const inTree = isServer ? await (await platform.sync()).input(tree.id, history, files, answer) : null;
		return requestBody({
			model,
			settings,
			tools: settings.tools.length > 0 ? await this.#knowledge.tools(settings.tools) : [],
			reasoning: this.#knowledge.reasoning(model),
			continues: continues !== null,
			...(inTree ?? { input: await inputOf(history, attachments, modalities), place: null })
		});
	}

	/** Let attachments of a draft belong to the conversation. Returns them. */
	async #own(conversation: string, ids: string[]): Promise<Attachment[]> {
		const files = await attachmentsOf(ids);
		for (const file of files.filter((one) => one.conversation !== conversation)) {
			await keepAttachment({ ...file, conversation });
		}
		return files;
	}

	#title(id: string, text: string, fileName: string | undefined): void {
		const conversation = conversations.get(id);
		if (conversation && !conversation.isTitled && conversation.title === '') {
			conversations.change(id, { title: titleOf(text, fileName) });
		}
	}
}

async function open(id: string): Promise<ConversationTree> {
	const tree = await conversations.open(id);
	if (!tree) throw new Error(`there is no conversation ${id}`);
	return tree;
}

function settingsOf(conversation: string): ChatSettings {
	const found = conversations.get(conversation);
	if (!found) throw new Error(`there is no conversation ${conversation}`);
	return found.settings;
}

function chosenModel(conversation: string, isSecond: boolean): string | null {
	const { model, secondModel } = settingsOf(conversation);
	return isSecond ? secondModel : model;
}

function answerOf(tree: ConversationTree, id: string): AnswerMessage {
	const message = tree.messages.get(id);
	if (message?.role !== 'assistant') throw new Error(`${id} is no answer`);
	return message;
}

/** Whether an answer was asked of a model, and not typed by a person. */
function isAsked(answer: AnswerMessage): boolean {
	return isRunning(answer.status) || answer.responseId !== null || answer.error !== null;
}

export const answers = new Answers();
