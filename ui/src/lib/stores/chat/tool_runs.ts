import type { AnswerMessage } from '$lib/chat_types';
import { ROUNDS, roundsOf } from '$lib/services/tools/loop';
import { callTool } from '$lib/services/tools/tools';
import { answers } from './answers.svelte';
import { conversations } from './conversations.svelte';
import { ToolRun } from './tool_run.svelte';

/** The calls of the answers that this page has shown while they had no results. */
class ToolRuns {
	#runs = new Map<string, ToolRun>();
	/** Answers that this page has seen end: another device's answers are not its own. */
	#ended = new Set<string>();

	/** See which answers end. Returns what ends it. */
	start(): () => void {
		return answers.onEnd(({ id, calls }, isForeign) => {
			if (calls.length > 0 && !isForeign) this.#ended.add(id);
		});
	}

	/** The calls of an answer that ended with them, and is the end of the branch that is shown. They are begun once. */
	of(conversation: string, answer: AnswerMessage): ToolRun {
		const known = this.#runs.get(answer.id);
		if (known) return known;
		const offered = conversations.get(conversation)?.settings.tools ?? [];
		const history = conversations.tree(conversation)?.history(answer.id) ?? [];
		const isAtLimit = roundsOf(history) % ROUNDS === 0;
		const send = (results: Parameters<typeof answers.sendResults>[2]) => answers.sendResults(conversation, answer.id, results);
		const run = new ToolRun(answer, { offered, isOurs: this.#ended.has(answer.id), isAtLimit, call: callTool, send });
		this.#runs.set(answer.id, run);
		void run.start();
		return run;
	}
}

export const toolRuns = new ToolRuns();
