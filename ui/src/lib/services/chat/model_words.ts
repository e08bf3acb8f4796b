import type { ChatText } from '$lib/chat_text/en';
import { missingInputs, readinessOf, type ChatModel, type Input } from '$lib/services/chat/chat_models';
import { percent, rate, short, span, whole } from '$lib/services/chat/numbers';

type Words = ChatText['models'];

/** A length of context: `8K`, `128K`, `1M` (of 1024 tokens each where that is whole), `1.5K`. */
export function contextInWords(tokens: number, code: string): string {
	return tokens >= 1024 && tokens % 1024 === 0 ? `${whole(tokens / 1024, code)}K` : short(tokens, code);
}

/** A size of files: `512 MB`, `4.7 GB`. */
export function sizeInWords(bytes: number, code: string): string {
	return bytes < 1e9 ? `${whole(Math.ceil(bytes / 1e6), code)} MB` : `${rate(bytes / 1e9, code)} GB`;
}

/** The state of a model: `ready`, `loading 41 %`. */
export function stateInWords(model: ChatModel, words: Words, code: string): string {
	const state = words.states[readinessOf(model)];
	return model.state === 'loading' && model.loading ? `${state} ${percent(model.loading.progress, code)}` : state;
}

/** What the list shows of a model, the most important first. */
export function modelFacts(model: ChatModel, words: Words, code: string): string[] {
	const readiness = readinessOf(model);
	const facts: (string | null)[] = [
		readiness === 'ready' ? null : stateInWords(model, words, code),
		readiness === 'loads' && model.loadSeconds !== null ? words.loadsIn(span(model.loadSeconds * 1000, code)) : null,
		model.isRemote ? words.remote : null,
		model.task === null ? null : words.tasks[model.task],
		model.context === null ? null : words.context(contextInWords(model.context, code)),
		model.task === 'image' && model.inputs.includes('image') ? words.editsImages : null,
		...model.inputs
			.filter((input) => model.task === null && (input === 'image' || input === 'audio'))
			.map((input) => inputInWords(input, words)),
		model.tokensPerSecond === null ? null : words.speed(rate(model.tokensPerSecond, code)),
		[model.bytes === null ? '' : sizeInWords(model.bytes, code), model.quantization ?? ''].filter(Boolean).join(' ')
	];
	return facts.filter((fact): fact is string => fact !== null && fact !== '');
}

/** Why the last load of the model failed, as a part of a sentence; null if it did not. */
export function failureInWords({ failure }: ChatModel, words: Words): string | null {
	if (failure === null) return null;
	const known = Object.hasOwn(words.failures, failure.code) ? words.failures[failure.code] : undefined;
	return failure.message?.replace(/(?<!\.)\.$/, '') || (known ?? failure.code);
}

/** Why a message with these attachments does not suit the model; null if it does. */
export function misfitInWords(model: ChatModel, needs: readonly Input[], words: Words): string | null {
	const missing = missingInputs(model, needs);
	return missing.length === 0 ? null : words.takesNo(missing.map((input) => inputInWords(input, words)).join(', '));
}

function inputInWords(input: Input, words: Words): string {
	return words.inputs[input] ?? input;
}
