import { language } from '$lib/chat_text/language.svelte';
import type { Command } from '$lib/services/chat/commands';

/** What the commands of a conversation do, and whether they can. */
export interface ThreadCommands {
	isRunning: () => boolean;
	/** The latest answer that has ended. */
	answer: () => string | null;
	/** Whether it is a text: of what makes images or audio there is no code. */
	isText: () => boolean;
	canContinue: () => boolean;
	stop: () => void;
	regenerate: (answer: string) => void;
	continueAnswer: (answer: string) => void;
	copy: (answer: string) => void;
	showCode: (answer: string) => void;
	inspect: (answer: string) => void;
	editLast: () => void;
}

/** The commands of the conversation that is shown. */
export function threadCommands(does: ThreadCommands): Command[] {
	const words = (): typeof language.text.thread => language.text.thread;
	const hasAnswer = (): boolean => does.answer() !== null;
	const hasText = (): boolean => hasAnswer() && does.isText();
	const withAnswer = (work: (answer: string) => void) => (): void => {
		const answer = does.answer();
		if (answer !== null) work(answer);
	};
	return [
		{ id: 'answer.stop', group: 'answer', title: () => words().stopAnswer, keys: 'Mod+.', slash: 'stop', when: does.isRunning, run: does.stop },
		{ id: 'answer.regenerate', group: 'answer', title: () => words().regenerateLong, slash: 'again', when: hasAnswer, run: withAnswer(does.regenerate) },
		{ id: 'answer.continue', group: 'answer', title: () => words().continueLong, slash: 'continue', when: does.canContinue, run: withAnswer(does.continueAnswer) },
		{ id: 'answer.copy', group: 'answer', title: () => words().copyAnswer, keys: 'Mod+Shift+C', slash: 'copy', when: hasAnswer, run: withAnswer(does.copy) },
		{ id: 'answer.edit', group: 'answer', title: () => words().editLast, keys: 'Mod+Shift+E', slash: 'edit', when: hasAnswer, run: does.editLast },
		{ id: 'answer.code', group: 'answer', title: () => words().codeLong, slash: 'code', when: hasText, run: withAnswer(does.showCode) },
		{ id: 'answer.inspect', group: 'answer', title: () => words().inspect, slash: 'inspect', when: hasText, run: withAnswer(does.inspect) }
	];
}
