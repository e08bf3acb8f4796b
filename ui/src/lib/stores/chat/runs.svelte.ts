import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';
import type { AnswerMessage, Message } from '$lib/chat_types';
import { lookUp } from '$lib/services/chat/answer_calls';
import { pause } from '$lib/services/chat/pause';
import { isRunning } from '$lib/services/chat/response';
import { putAnswer, putAsked, readAnswer, readMessage, readStreams } from '$lib/storage/messages';
import type { StreamRecord } from '$lib/storage/records';
import { AnswerRun, type RunHost } from './answer_run';
import { conversations } from './conversations.svelte';
import type { LiveAnswer } from './live_answer.svelte';
import { chatStorage } from './storage.svelte';
import { tabs } from './tabs';
import type { AnswerTrace } from './trace.svelte';

const TELL_MS = 200;
const LOOK_MS = 5_000;
const TRACES = 8;

/** All answers that have not ended, as far as this tab knows them, and what was traced of the latest ones. */
class Runs implements RunHost {
	#runs = new SvelteMap<string, AnswerRun>();
	#traces = new SvelteMap<string, AnswerTrace>();
	/** How many components look at a conversation. */
	#watched = new SvelteMap<string, number>();
	/** When the tab that reads an answer has told of it, and when this one did. */
	#heardAt = new SvelteMap<string, number>();
	#toldAt = new SvelteMap<string, number>();
	#followers = new Set<(answer: AnswerMessage, isForeign: boolean) => void>();

	/** Go on with what has not ended, and follow other tabs. Returns what ends it. */
	start(): () => void {
		void this.#resume();
		const end = new AbortController();
		void this.#lookAgain(end.signal);
		const unfollow = tabs.follow((message) => {
			if (message.kind === 'answer') this.#hear(message.answer, message.live, message.isForeign);
		});
		const ends = [unfollow, conversations.onGone((isGone) => this.#drop((run) => isGone(run.answer)))];
		return () => {
			end.abort();
			for (const one of ends) one();
		};
	}

	live(id: string): LiveAnswer | undefined {
		return this.#runs.get(id)?.live;
	}

	trace(id: string): AnswerTrace | undefined {
		return this.#runs.get(id)?.trace ?? this.#traces.get(id);
	}

	get(id: string): AnswerRun | undefined {
		return this.#runs.get(id);
	}

	/** The running answers of a conversation. */
	of(conversation: string): AnswerRun[] {
		return [...this.#runs.values()].filter((run) => run.answer.conversation === conversation);
	}

	/** Ask for answers. They are written with their requests, and what was added before them, before anything is sent. */
	async begin(added: Message[], asked: { answer: AnswerMessage; body: string; isMedia: boolean }[]): Promise<void> {
		const begun = asked.map(({ answer, body, isMedia }) => new AnswerRun(answer, { ...newStream(answer, body), isMedia }, this, true));
		const messages = [...added, ...asked.map(({ answer }) => answer)];
		await chatStorage.write(() => putAsked(messages, begun.map(({ stream }) => stream)));
		for (const run of begun) this.#add(run);
	}

	/** Look at a conversation: its answers are streamed. Returns what ends it. */
	watch(conversation: string): () => void {
		const count = (difference: number) =>
			untrack(() => {
				const left = (this.#watched.get(conversation) ?? 0) + difference;
				if (left > 0) this.#watched.set(conversation, left);
				else this.#watched.delete(conversation);
				this.#update();
			});
		count(1);
		return () => count(-1);
	}

	/** Read an answer that another device has asked for. */
	async follow(answer: AnswerMessage): Promise<void> {
		if (this.#runs.has(answer.id)) return;
		const run = new AnswerRun(answer, newStream(answer, null, true), this, false);
		await chatStorage.write(() => putAsked([answer], [run.stream]));
		if (!this.#runs.has(answer.id)) this.#add(run);
	}

	/** Whether a component looks at a conversation. */
	watches(conversation: string): boolean {
		return this.#watched.has(conversation);
	}

	/** Call `tell` at the end of each answer that this tab has read (`isForeign`: asked for by another device). Returns what ends it. */
	onEnd(tell: (answer: AnswerMessage, isForeign: boolean) => void): () => void {
		this.#followers.add(tell);
		return () => this.#followers.delete(tell);
	}

	flush(): void {
		for (const run of this.#runs.values()) run.flush();
	}

	// ---- what a run needs

	show(run: AnswerRun): void {
		run.trace.publish();
		conversations.show(run.answer);
		if (!run.isReading && !run.isOver) return;
		const now = Date.now();
		if (!run.isOver && now - (this.#toldAt.get(run.id) ?? 0) < TELL_MS) return;
		this.#toldAt.set(run.id, now);
		const { answer, stream, live } = run;
		const isForeign = stream.isForeign === true;
		if (run.isReading || run.isOver) tabs.tell({ kind: 'answer', answer, live: run.isOver ? null : live.values, isForeign });
	}

	keep(answer: AnswerMessage, stream: StreamRecord | null): Promise<boolean> {
		return chatStorage.write(() => putAnswer(answer, stream));
	}

	/** What the platform has of a conversation of its own is needed there: another device may follow it. */
	saved({ responseId, conversation }: AnswerMessage): void {
		if (responseId === null || conversations.get(conversation)?.place !== 'browser') return;
		void import('./ended_responses').then(({ noteEnded }) => noteEnded(responseId));
	}

	async kept(id: string): Promise<{ message?: AnswerMessage; stream?: StreamRecord }> {
		const known = this.#runs.get(id);
		const otherwise = known && { message: known.answer, stream: known.stream };
		const { message, stream } = await chatStorage.read(() => readAnswer(id), otherwise ?? {});
		return { ...(message?.role === 'assistant' && { message }), ...(stream && { stream }) };
	}

	accepted(run: AnswerRun): void {
		run.update(this.#isWatched(run.answer.conversation));
	}

	ended(run: AnswerRun): void {
		this.#runs.delete(run.id);
		this.#heardAt.delete(run.id);
		this.#toldAt.delete(run.id);
		this.#traces.set(run.id, run.trace);
		for (const id of [...this.#traces.keys()].slice(0, -TRACES)) this.#traces.delete(id);
		for (const tell of this.#followers) tell(run.answer, run.stream.isForeign === true);
	}

	// ---- which answers are read here

	async #resume(): Promise<void> {
		for (const stream of await chatStorage.read(readStreams, [])) {
			if (this.#runs.has(stream.id)) continue;
			const answer = await chatStorage.read(() => readMessage(stream.id), undefined);
			if (answer?.role !== 'assistant' || this.#runs.has(stream.id)) continue;
			const run = new AnswerRun(answer, stream, this, false);
			this.#add(run);
			if (stream.isStopped) void run.stop();
		}
	}

	#add(run: AnswerRun): void {
		this.#runs.set(run.id, run);
		run.update(this.#isWatched(run.answer.conversation));
	}

	#isWatched(conversation: string): boolean {
		return this.#watched.size === 0 || this.#watched.has(conversation);
	}

	#update(): void {
		for (const run of this.#runs.values()) run.update(this.#isWatched(run.answer.conversation));
	}

	#hear(answer: AnswerMessage, live: AnswerRun['live']['values'] | null, isForeign: boolean): void {
		const run = this.#runs.get(answer.id);
		if (!run?.isReading || run.live.connection === 'elsewhere') conversations.show(answer);
		this.#heardAt.set(answer.id, Date.now());
		if (run) {
			if (live && run.live.connection !== 'open') run.live.follow(live);
			run.follow(answer);
		} else if (live && isRunning(answer.status)) this.#add(new AnswerRun(answer, newStream(answer, null, isForeign), this, false));
	}

	#drop(isGone: (run: AnswerRun) => boolean): void {
		for (const run of [...this.#runs.values()].filter(isGone)) run.drop();
	}

	/** Look for the ends of the answers that no tab reads. */
	async #lookAgain(signal: AbortSignal): Promise<void> {
		for (; !signal.aborted; await pause(document.hidden ? 3 * LOOK_MS : LOOK_MS, signal)) {
			const heardSince = Date.now() - 2 * LOOK_MS;
			const unread = [...this.#runs.values()].filter(
				(run) => run.live.connection === 'unwatched' && (this.#heardAt.get(run.id) ?? 0) < heardSince
			);
			if (unread.length === 0) continue;
			const found = await lookUp(unread.map((run) => run.id)).catch(() => null);
			if (!found) continue;
			const running = found.filter((one) => !one.is_done).map((one) => one.conversation_id);
			await Promise.all(unread.filter((run) => !running.includes(run.id)).map((run) => run.look()));
		}
	}
}

function newStream({ id, conversation }: AnswerMessage, body: string | null, isForeign = false): StreamRecord {
	return { id, conversation, body, offset: 0, sequence: -1, reasonsSince: null, isStopped: false, isForeign };
}

export const runs = new Runs();
