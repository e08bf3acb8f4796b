import { SvelteMap } from 'svelte/reactivity';
import type { AnswerMessage, ToolCall } from '$lib/chat_types';
import { asProblem, type ApiProblem } from '$lib/services/call';
import type { ToolResult } from '$lib/services/chat/new_records';
import { readBegun, withBegun, type BegunCalls } from '$lib/services/tools/begun';
import { INVALID_OUTPUTS, stepOf } from '$lib/services/tools/loop';
import { takeCalls } from '$lib/services/tools/ownership';
import type { callTool, Tool } from '$lib/services/tools/tools';
import { putSetting, readSetting } from '$lib/storage/settings';
import { chatStorage } from './storage.svelte';
import { tools } from './tools.svelte';

const BEGUN = 'tools.begun';

/** What is known of a call that has no result in the conversation yet. */
export type CallState =
	| { kind: 'asking'; tool: Tool; params: Record<string, unknown>; isChanged: boolean; mayHaveRun: boolean }
	| { kind: 'running' }
	| { kind: 'done'; result: ToolResult }
	/** The platform did not make it: a repeat may work. */
	| { kind: 'problem'; problem: ApiProblem; tool: Tool; params: Record<string, unknown> }
	/** Another tab has it. */
	| { kind: 'elsewhere' };

export interface RunOptions {
	/** The names of the tools that the conversation offers. */
	offered: readonly string[];
	/** Whether this page has seen the answer end: a page that was loaded later does nothing by itself. */
	isOurs: boolean;
	/** Whether the model has called tools so often that a person decides whether it goes on. */
	isAtLimit: boolean;
	/** Make a call. */
	call: typeof callTool;
	/** Give the results of all calls to the model. */
	send: (results: ToolResult[]) => Promise<unknown>;
}

/** The calls of one answer: each is allowed or not, made, and kept, until all have results. */
export class ToolRun {
	calls = new SvelteMap<string, CallState>();
	/** Why the list of tools could not be read: nothing is decided then. */
	problem: ApiProblem | null = $state.raw(null);
	/** Whether all calls have results, and a person has to say whether the model goes on. */
	isHeld = $state(false);
	isAtLimit: boolean;
	private isOurs: boolean;
	#begun: BegunCalls = { started: [], results: [] };
	#owned: Promise<boolean> | undefined;
	#isSent = false;
	#ends = new Map<string, AbortController>(); // eslint-disable-line svelte/prefer-svelte-reactivity -- nothing follows it

	constructor(
		readonly answer: AnswerMessage,
		private options: RunOptions
	) {
		this.isOurs = options.isOurs;
		this.isAtLimit = options.isAtLimit;
	}

	/** Decide what happens with each call. Again after a problem. */
	async start(): Promise<void> {
		await tools.read();
		this.problem = tools.list === null ? tools.problem : null;
		if (this.problem) return;
		const kept = readBegun(await chatStorage.read(() => readSetting(BEGUN), undefined))[this.answer.id];
		if (kept) this.#begun = { started: [...kept.started], results: [...kept.results] };
		for (const call of this.answer.calls) this.#begin(call);
		await this.#sendIfWhole();
	}

	/** Make a call that a person allows: once, or for good. */
	async allow(id: string, isForGood: boolean): Promise<void> {
		const state = this.calls.get(id);
		if (state?.kind !== 'asking') return;
		this.isOurs = true;
		if (isForGood) await tools.allow(state.tool);
		await this.#make(id, state.tool, state.params);
		if (isForGood) this.#allowOthers(state.tool);
	}

	/** The model is told that a person did not allow it. */
	async refuse(id: string): Promise<void> {
		if (this.calls.get(id)?.kind !== 'asking') return;
		this.isOurs = true;
		if (await this.#own(id)) await this.#done(id, INVALID_OUTPUTS.refused, true);
	}

	/** Make a call again that had a problem. */
	async retry(id: string): Promise<void> {
		const state = this.calls.get(id);
		if (state?.kind === 'problem') await this.#make(id, state.tool, state.params);
	}

	/** Let the model go on without a call that had a problem, or takes too long. */
	async giveUp(id: string): Promise<void> {
		const state = this.calls.get(id);
		this.#ends.get(id)?.abort();
		if (state?.kind === 'problem') await this.#done(id, state.problem.message, true);
		else if (state?.kind === 'running') await this.#done(id, INVALID_OUTPUTS.ended, true);
	}

	/** The model goes on, though it has called tools so often. */
	async goOn(): Promise<void> {
		this.isAtLimit = false;
		this.isOurs = true;
		await this.#sendIfWhole();
	}

	#begin(call: ToolCall): void {
		const result = this.#begun.results.find(({ callId }) => callId === call.id);
		if (result) {
			this.calls.set(call.id, { kind: 'done', result });
			return;
		}
		const mayHaveRun = this.#begun.started.includes(call.id);
		const isOurs = this.isOurs && !mayHaveRun;
		const step = stepOf(call, this.answer, tools.list ?? [], this.options.offered, tools.consents, isOurs);
		if (step.kind === 'run') void this.#make(call.id, step.tool, step.params);
		else if (step.kind === 'ask') this.calls.set(call.id, { ...step, kind: 'asking', mayHaveRun });
		else this.#keep(call.id, INVALID_OUTPUTS[step.reason], true);
	}

	/** A tool that was allowed for good is asked for no more in the same answer. */
	#allowOthers({ name }: Tool): void {
		for (const [id, state] of this.calls) {
			if (state.kind === 'asking' && state.tool.name === name && !state.mayHaveRun) void this.#make(id, state.tool, state.params);
		}
	}

	async #make(id: string, tool: Tool, params: Record<string, unknown>): Promise<void> {
		this.calls.set(id, { kind: 'running' });
		if (!(await this.#own(id))) return;
		if (!this.#begun.started.includes(id)) this.#begun.started.push(id);
		await this.#write();
		const end = new AbortController();
		this.#ends.set(id, end);
		try {
			const { output, isError } = await this.options.call(tool.name, params, end.signal);
			if (!end.signal.aborted) await this.#done(id, output, isError);
		} catch (error) {
			if (!end.signal.aborted) this.calls.set(id, { kind: 'problem', problem: asProblem(error), tool, params });
		} finally {
			this.#ends.delete(id);
		}
	}

	/** Whether this tab may make the calls. If not, `id` is shown as a call of another one. */
	async #own(id?: string): Promise<boolean> {
		this.#owned ??= takeCalls(this.answer.id);
		if (await this.#owned) return true;
		this.#owned = undefined;
		if (id !== undefined) this.calls.set(id, { kind: 'elsewhere' });
		return false;
	}

	async #done(id: string, output: string, isError: boolean): Promise<void> {
		this.#keep(id, output, isError);
		await this.#write();
		await this.#sendIfWhole();
	}

	#keep(callId: string, output: string, isError: boolean): void {
		const name = this.answer.calls.find((call) => call.id === callId)?.name ?? '';
		const result = { callId, name, output, isError };
		this.#begun.results.push(result);
		this.calls.set(callId, { kind: 'done', result });
	}

	/** Give the results to the model, once: by itself if this page has seen the answer end, or a person has decided here. */
	async #sendIfWhole(): Promise<void> {
		const found = this.answer.calls.map((call) => this.calls.get(call.id));
		const results = found.map((state) => (state?.kind === 'done' ? state.result : null)).filter((result) => result !== null);
		if (this.#isSent || results.length < this.answer.calls.length) return;
		this.isHeld = this.isAtLimit || !this.isOurs;
		if (this.isHeld || !(await this.#own())) return;
		if (this.#isSent) return; // by another call that ended meanwhile
		this.#isSent = true;
		await this.options.send(results);
		await this.#write(true);
	}

	async #write(isOver = false): Promise<void> {
		const all = readBegun(await chatStorage.read(() => readSetting(BEGUN), undefined));
		// plain records: the database takes no proxies
		const kept = isOver ? null : { started: [...this.#begun.started], results: this.#begun.results.map((one) => ({ ...one })) };
		await chatStorage.write(() => putSetting(BEGUN, withBegun(all, this.answer.id, kept)));
	}
}
