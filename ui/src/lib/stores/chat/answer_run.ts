import type { AnswerError, AnswerMessage } from '$lib/chat_types';
import { asProblem, ApiProblem } from '$lib/services/call';
import { cancelResponse, endStream, readPlace, readResponse } from '$lib/services/chat/answer_calls';
import { readEvent } from '$lib/services/chat/answer_events';
import { readAnswer, type AnswerListener, type AnswerTask, type Outcome } from '$lib/services/chat/answer_reader';
import type { Connection } from '$lib/services/chat/live_state';
import { holdAny, holdLock, tryLocks } from '$lib/services/chat/locks';
import { Backoff, pause } from '$lib/services/chat/pause';
import { TokenRate } from '$lib/services/chat/rate';
import { finalStatus, isRunning, withResponse, type ResponseObject } from '$lib/services/chat/response';
import { Throttle } from '$lib/services/chat/throttle';
import type { StreamRecord } from '$lib/storage/records';
import { session } from '$lib/stores/session.svelte';
import { LiveAnswer } from './live_answer.svelte';
import { AnswerTrace } from './trace.svelte';

/** Each time an answer is shown is a layout of the page. */
const SHOW_MS = 50;
const KEEP_MS = 1_000;
const FIRST_PLACE_MS = 700;
const PLACE_MS = 2_000;
/** What comes in so many ms after a connection has begun may have been written before it. */
const REPLAY_MS = 500;
/** So many answers are streamed per browser: it has six connections to the API for all tabs. */
const SLOTS = ['stoker-stream-0', 'stoker-stream-1'];

/** What a run needs of its surroundings. */
export interface RunHost {
	/** Show the answer. */
	show(run: AnswerRun): void;
	/** Write the answer, and how far it was read (null: it has ended). Returns whether the browser has done so. */
	keep(answer: AnswerMessage, stream: StreamRecord | null): Promise<boolean>;
	/** What is kept: another tab may have read further. */
	kept(id: string): Promise<{ message?: AnswerMessage; stream?: StreamRecord }>;
	/** The request is accepted: whether it is streamed on is decided anew. */
	accepted(run: AnswerRun): void;
	ended(run: AnswerRun): void;
	/** The end of the answer is written. */
	saved(answer: AnswerMessage): void;
}

/** One answer that has not ended, in this tab: it reads it, or waits while another tab does. */
export class AnswerRun {
	readonly live = new LiveAnswer();
	readonly trace: AnswerTrace;
	isOver = false;
	#reading: AbortController | undefined;
	#rate = new TokenRate();
	#show = new Throttle(SHOW_MS, () => this.host.show(this));
	#keep = new Throttle(KEEP_MS, () => void this.host.keep(this.answer, this.stream));
	#isAsking = false;
	/** How often a connection has begun to give events. */
	#connections = 0;
	#hasRead = false;
	/** When the connection began to give events. */
	#openedAt = 0;
	/** When this tab saw the first token, from the sending on. */
	#firstTokenMs: number | null = null;

	constructor(
		public answer: AnswerMessage,
		public stream: StreamRecord,
		readonly host: RunHost,
		/** Whether this tab asks for it now, for the first time. */
		private isFresh: boolean
	) {
		this.trace = new AnswerTrace(stream.body);
		this.live.isStopping = stream.isStopped;
	}

	get id(): string {
		return this.answer.id;
	}

	/** Whether this tab reads it. */
	get isReading(): boolean {
		return this.#reading !== undefined;
	}

	/** Read it, or leave it: what was not accepted yet is sent in any case. */
	update(isWatched: boolean): void {
		const wants = !this.isOver && (isWatched || this.stream.body !== null) && !this.stream.isStopped;
		if (wants && !this.#reading) {
			const reading = (this.#reading = new AbortController());
			void this.#readInTurn(reading.signal).finally(() => {
				if (this.#reading === reading) this.#reading = undefined;
			});
		} else if (!wants && this.#reading) {
			this.#leave();
			if (!this.isOver) this.live.connection = 'unwatched';
		}
	}

	/** Take what the tab that reads it has told. */
	follow(answer: AnswerMessage): void {
		if (this.isReading && this.live.connection === 'open') return;
		this.answer = answer;
		if (!isRunning(answer.status)) this.#end();
	}

	/** Take the response as a whole, if it has ended. */
	async look(): Promise<void> {
		const id = this.answer.responseId;
		if (id === null || this.isReading) return;
		try {
			const response = await readResponse(id);
			if (finalStatus(response.status)) await this.#finish(withResponse(this.answer, response));
		} catch (error) {
			if (asProblem(error).status === 404) await this.#lose();
		}
	}

	/** End the answer: on the platform as soon as it can be told, here at once. */
	async stop(): Promise<void> {
		this.live.isStopping = true;
		this.stream = { ...this.stream, isStopped: true };
		await this.host.keep(this.answer, this.stream);
		const end = new AbortController();
		const backoff = new Backoff();
		while (!this.isOver) {
			try {
				await this.#tellStop();
				return;
			} catch (error) {
				const problem = asProblem(error);
				if (problem.status >= 400 && problem.status < 500 && problem.status !== 401 && problem.status !== 429) {
					await this.#finish(stopped(this.answer));
					return;
				}
			}
			this.#leave();
			// it looks stopped at once, and its record says that the platform has to be told
			this.answer = stopped(this.answer);
			this.host.show(this);
			await this.host.keep(this.answer, this.stream);
			await pause(backoff.next(), end.signal);
		}
	}

	/** Forget it, as its message is gone, and end it on the platform. */
	drop(): void {
		const id = this.answer.responseId;
		this.#end();
		void (id === null ? endStream(this.id) : cancelResponse(id)).catch(() => undefined);
	}

	/** Write what is due: the page may end. */
	flush(): void {
		this.#keep.flush();
	}

	async #tellStop(): Promise<void> {
		if (this.answer.responseId !== null) {
			const response = await cancelResponse(this.answer.responseId);
			if (this.isOver) return;
			await this.#finish(finalStatus(response.status) ? withResponse(this.answer, response) : stopped(this.answer));
			return;
		}
		this.#leave();
		await endStream(this.id);
		await this.#finish(stopped(this.answer));
		// a request that was on its way then has come by now
		await pause(2_000, new AbortController().signal);
		await endStream(this.id).catch(() => undefined);
	}

	async #readInTurn(signal: AbortSignal): Promise<void> {
		const elsewhere = () => this.#connection('elsewhere');
		await holdLock(`stoker-answer-${this.id}`, signal, () => this.#readWithSlot(signal), elsewhere);
	}

	async #readWithSlot(signal: AbortSignal): Promise<void> {
		if (!this.isFresh || this.#hasRead) if (!(await this.#catchUp())) return;
		if (signal.aborted || this.isOver) return;
		if (await tryLocks(SLOTS, () => this.#read(signal))) return;
		if (this.stream.body !== null && !this.stream.isMedia) await this.#read(signal, true);
		if (signal.aborted || this.isOver) return;
		this.#connection('unwatched');
		await holdAny(SLOTS, signal, () => this.#read(signal));
	}

	/** Take what another tab, or this page before its reload, has kept. Returns whether the answer still goes on. */
	async #catchUp(): Promise<boolean> {
		const { message, stream } = await this.host.kept(this.id);
		if (message) this.answer = message;
		if (stream) this.stream = stream;
		if (this.isOver || !isRunning(this.answer.status) || !stream) {
			this.#end();
			return false;
		}
		return true;
	}

	/** Read until the end. `isBrief`: until the request is accepted. */
	async #read(signal: AbortSignal, isBrief = false): Promise<void> {
		const brief = new AbortController();
		const isResumed = !this.isFresh && !this.#hasRead;
		this.#hasRead = true;
		const { body, offset, sequence } = this.stream;
		const attempt = this.stream.isMedia && body !== null ? this.#mediaAttempt(body) : undefined;
		const task = { id: this.id, body, offset, sequence, responseId: this.answer.responseId, isResumed, attempt };
		const listener: AnswerListener = {
			event: (data, end) => {
				const isEnd = this.#event(data, end);
				Object.assign(task, { offset: end, sequence: this.stream.sequence, responseId: this.answer.responseId });
				if (task.body !== null) {
					task.body = null;
					this.host.accepted(this);
					if (isBrief) brief.abort();
				}
				return isEnd;
			},
			whole: (response) => this.#whole(response),
			connection: (connection) => this.#connection(connection),
			head: (response) => this.trace.addHead(response)
		};
		const outcome = await readAnswer(task, listener, AbortSignal.any([signal, brief.signal]));
		await this.#outcome(outcome);
	}

	/** Ask for images or audio, and take what comes. The code is loaded when it is needed. */
	#mediaAttempt(request: string): AnswerTask['attempt'] {
		return async (listener, signal) => {
			const { readMedia } = await import('./media/media_reader');
			return readMedia(this.answer, request, listener, signal, (answer, { place, work, preview }) => {
				if (this.isOver) return;
				this.answer = answer;
				Object.assign(this.live, { place, work, preview });
				this.#show.touch();
				this.#keep.touch();
			});
		};
	}

	async #outcome(outcome: Outcome): Promise<void> {
		if (this.isOver) return;
		if (outcome === 'ended') await this.#finish(this.answer);
		else if (outcome === 'lost') await this.#lose();
		else if (outcome === 'aborted') await this.host.keep(this.answer, this.stream);
		else await this.#finish({ ...this.answer, status: 'failed', error: errorOf(outcome) });
	}

	/** The platform has no such response: another tab may have read its end before it was deleted. */
	async #lose(): Promise<void> {
		if (await this.#catchUp()) await this.#finish(lost(this.answer));
	}

	#event(data: Record<string, unknown>, offset: number): boolean {
		const now = Date.now();
		const { reasoning } = this.answer;
		const read = readEvent(this.answer, data, now, this.stream.reasonsSince);
		const isSeen = this.#sawAll || now - this.#openedAt > REPLAY_MS;
		// when an answer that was written before was sent, or began, the platform tells at its end
		const isTimed = read.tokens === 0 || (isSeen && !this.stream.isForeign);
		this.answer = isTimed ? read.answer : { ...read.answer, times: this.answer.times };
		const sequence = typeof data.sequence_number === 'number' ? data.sequence_number : this.stream.sequence;
		const reasonsSince = isSeen && reasoning === '' && read.answer.reasoning !== '' ? now : this.stream.reasonsSince;
		this.stream = { ...this.stream, offset, sequence, reasonsSince, body: null };
		if (read.progress) this.live.progress = read.progress;
		if (read.tokens > 0) {
			this.#firstTokenMs ??= now - this.answer.times.sentAt;
			this.live.place = this.live.progress = null;
			this.live.tokens += read.tokens;
		}
		this.live.tokensPerSecond = this.#rate.add(read.tokens, now) ?? this.live.tokensPerSecond;
		this.trace.addEvent(data);
		if (this.answer.status === 'waiting') void this.#askPlace();
		if (!read.isEnd) {
			this.#show.touch();
			this.#keep.touch();
		}
		return read.isEnd;
	}

	#whole(response: ResponseObject): void {
		this.answer = withResponse(this.answer, response);
	}

	#connection(connection: Connection): void {
		if (connection === 'open') {
			this.#rate.begin();
			this.#connections += 1;
			this.#openedAt = Date.now();
		}
		if (connection === 'signed-out') void session.read(); // the page says so, and offers a sign-in
		this.live.connection = connection;
		this.#show.touch();
	}

	/** Ask for the place in the queue, again and again, while the answer waits. */
	async #askPlace(): Promise<void> {
		const signal = this.#reading?.signal;
		if (this.#isAsking || !signal) return;
		this.#isAsking = true;
		await pause(FIRST_PLACE_MS, signal);
		while (this.answer.status === 'waiting' && this.answer.responseId !== null && !signal.aborted) {
			const place = await readPlace(this.answer.responseId, signal).catch(() => null);
			if (this.answer.status !== 'waiting') break;
			this.live.place = place?.status === 'queued' ? place : null;
			this.#show.touch();
			await pause(PLACE_MS, signal);
		}
		this.#isAsking = false;
	}

	async #finish(answer: AnswerMessage): Promise<void> {
		if (this.isOver) return;
		this.answer = { ...answer, times: this.#times(answer) };
		const kept = this.host.keep(this.answer, null);
		this.#end();
		if (await kept) this.host.saved(this.answer);
	}

	/** What this tab saw from the begin to the end counts as a person waits for it; else what the platform has measured. */
	#times(answer: AnswerMessage): AnswerMessage['times'] {
		const { times } = answer;
		// another device knows when it was sent
		const seenMs = this.stream.isForeign ? null : Date.now() - times.sentAt;
		const sawAll = this.#sawAll;
		return {
			...times,
			firstTokenMs: sawAll ? this.#firstTokenMs : times.firstTokenMs,
			totalMs: sawAll ? seenMs : (times.totalMs ?? seenMs),
			tokensPerSecond: times.tokensPerSecond ?? this.live.tokensPerSecond
		};
	}

	/** Whether this tab has read it from the sending on, in one connection. */
	get #sawAll(): boolean {
		return this.isFresh && this.#connections === 1;
	}

	#end(): void {
		if (this.isOver) return;
		this.isOver = true;
		this.#show.stop();
		this.#keep.stop();
		this.#leave();
		this.host.show(this);
		this.host.ended(this);
	}

	#leave(): void {
		this.#reading?.abort();
		this.#reading = undefined;
	}
}

function stopped(answer: AnswerMessage): AnswerMessage {
	return isRunning(answer.status) ? { ...answer, status: 'stopped' } : answer;
}

function lost(answer: AnswerMessage): AnswerMessage {
	return { ...answer, status: 'lost', error: { code: 'lost', message: '', param: null, retryAfter: null } };
}

function errorOf({ code, message, param, retryAfter }: ApiProblem): AnswerError {
	return { code, message, param: param ?? null, retryAfter: retryAfter ?? null };
}
